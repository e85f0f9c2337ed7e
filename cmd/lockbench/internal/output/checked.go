package output

import (
	"fmt"

	"muxlock/cmd/lockbench/internal/advice"
)

// Checked is how the measured run itself stood to what was predicted for it.
func Checked(c *advice.Check) string {
	return fmt.Sprintf("this run, with TTL %s, lost validity %s times in %s (%s to %s); predicted %s", Duration(float64(c.TTL)),
		Number(float64(c.Lost)), Number(float64(c.Acquired)), probability(c.Lo), probability(c.Hi), probability(c.Predicted))
}
