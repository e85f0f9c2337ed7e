package advice

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	replicates = 10
	goleak.VerifyTestMain(m)
}
