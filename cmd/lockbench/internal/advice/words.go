package advice

import "fmt"

// InWords is what is known of the chance to lose a lock, in a sentence.
func (a *Advice) InWords() string {
	for _, c := range a.Expected {
		switch {
		case c.Formula != rollUp:
		case c.N == 0 || c.Hi >= 1:
			return "The samples alone do not bound how often validity is lost: that is a fitted curve and arithmetic."
		case c.Extrapolated:
			return fmt.Sprintf("The samples alone show that less than %s%% lose it (95 %%); the rest is a fitted curve.", chance(100*c.Hi))
		default:
			return fmt.Sprintf("The samples alone show that less than %s%% lose it (95 %%).", chance(100*c.Hi))
		}
	}
	return ""
}
