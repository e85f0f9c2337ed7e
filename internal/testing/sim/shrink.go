package sim

import (
	"slices"
	"strconv"
	"strings"
)

// Only returns the schedule with the faults of these numbers, as in "0,3"; "": with none; "all": as it is.
func (s Schedule) Only(numbers string) (Schedule, error) {
	var left []int
	if numbers == "all" {
		return s, nil
	}
	for _, text := range strings.FieldsFunc(numbers, func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(text)
		if err != nil {
			return s, err
		}
		left = append(left, n)
	}
	return s.with(left), nil
}

func (s Schedule) with(numbers []int) Schedule {
	all := s.Faults
	s.Faults = nil
	for _, n := range numbers {
		s.Faults = append(s.Faults, all[n])
	}
	return s
}

// Shrink drops faults, one after the other, as long as the schedule still fails. It returns the numbers
// of the faults that are left. It may call fails with any part of the faults.
func Shrink(s Schedule, fails func(Schedule) bool) (left []int) {
	for i := range s.Faults {
		left = append(left, i)
	}
	for size := (len(left) + 1) / 2; size > 0; size /= 2 { // many at once first
		for from := 0; from < len(left); {
			without := slices.Delete(slices.Clone(left), from, min(from+size, len(left)))
			if fails(s.with(without)) {
				left = without
			} else {
				from += size
			}
		}
	}
	return left
}
