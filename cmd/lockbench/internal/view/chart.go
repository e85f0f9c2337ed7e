package view

import "math"

// Chart is the data of one drawing: Lines, Bars or Strip. One with nothing to draw is left out.
type Chart interface{ isChart() }

func (Lines) isChart() {}
func (Bars) isChart()  {}
func (Strip) isChart() {}

// Colors is how many series can be told apart by their colour.
const Colors = 8

// Axis is how one direction is divided.
type Axis struct {
	Label string
	Log   bool                 // values of 0 and below have no place
	Text  func(float64) string // of a tick and of a value pointed at; nil: plain digits
	// Ticks to mark; nil: some that are easy to read. Seconds asks for those of a clock.
	Ticks   []Tick
	Seconds bool
}

// Tick is a marked value.
type Tick struct {
	At    float64
	Label string
}

// Lines is curves over one axis.
type Lines struct {
	Title  string
	X, Y   Axis
	At     []float64 // places on X, ascending, which all series share
	Series []Series
	Bands  []Band
}

// Series is one curve: a value for each place, NaN where it has none.
type Series struct {
	Name  string
	Color int // from 0
	Y     []float64
	Dash  bool
	Dots  bool // a mark at each value: measured, not computed
	// Steps is for counts and the like: each value holds since the place before, the first
	// since 0, and where one is missing there is a gap. Else a line goes from value to value.
	Steps bool
	// Low and High are the interval of each value, drawn as a bar across it; may be nil.
	Low, High []float64
}

// Band is a stretch of X that something special happened in, or a moment when it
// has no length.
type Band struct {
	From, To float64
	Label    string
}

// Bars is a horizontal bar from 0 for each row.
type Bars struct {
	Title string
	X     Axis
	Mark  float64 // a line through all, such as 1 for ratios; 0: none
	Rows  []Bar
}

// Bar is one row. Low and High are its interval, both 0 when there is none.
type Bar struct {
	Label     string
	Color     int
	Value     float64
	Low, High float64
	Text      string // the figure in words
}

// Strip is a row of cells over X for each thing watched: the darker, the larger, in
// steps of a logarithm.
type Strip struct {
	Title string
	X     Axis
	At    []float64 // ends of the cells, ascending; the first begins at 0
	Text  func(float64) string
	Rows  []StripRow
	Bands []Band
}

// StripRow is one thing; a value below 0 is one that should be there and is not,
// NaN one that nobody looked for.
type StripRow struct {
	Label, Text string
	Values      []float64
}

// Unseen is the value of a cell that nobody looked at.
var Unseen = math.NaN()
