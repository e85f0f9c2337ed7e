//go:build !unix || aix

package bench

import (
	"errors"
	"os"
)

// SharesMemory reports whether runs of several processes are possible here.
const SharesMemory = false

// Monotonic returns 0: processes have no common clock here.
func Monotonic() int64 { return 0 }

func mapTable(*os.File, Config) (*table, func(), error) { return nil, nil, errors.ErrUnsupported }
