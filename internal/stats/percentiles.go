package stats

// Percentiles are the percentiles of every summary of latencies, ascending. This is the only
// list: JSON, tables and charts follow it.
var Percentiles = []struct {
	Name  string // key of a summary's "p" in JSON
	Value float64
}{{"50", 50}, {"90", 90}, {"99", 99}, {"99.9", 99.9}, {"99.99", 99.99}}
