package result

import "muxlock/cmd/lockbench/internal/sizing"

// Advice is what was sized, from what, and how to try it.
type Advice struct {
	Ask sizing.Ask `json:"ask"`
	sizing.Sizes
	Try  string   `json:"try"`            // the command that runs Config on the masters of the measurement
	Args []string `json:"args,omitempty"` // of lockbench advise, as in Config of the document
	// Explain shows what it was made of, too.
	Explain bool `json:"-"`
}
