package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A subject is pure code, and the tests that look at its mutants.
type subject struct {
	files string   // a pattern, from the top of the repository
	tests string   // which tests of the package
	args  []string // for them
}

var subjects = []subject{
	{files: "internal/redlock/*.go", tests: ".*"},
	{files: "internal/quorum/*.go", tests: ".*"},
	{files: "internal/fencing/*.go", tests: ".*"},
	{files: "internal/line/*.go", tests: ".*"},
	{files: "engine/internal/turn/*.go", tests: ".*", args: []string{"-test.short"}},
	{files: "pipeline/internal/conn/votes.go", tests: ".*"},
	{files: "pipeline/internal/pace/*.go", tests: ".*"},
	{files: "pipeline/internal/pending/*.go", tests: ".*", args: []string{"-test.short"}},
	{files: "pipeline/internal/membership/server.go", tests: ".*"},
	{files: "pipeline/internal/membership/wait_clock.go", tests: ".*"},
	{files: "cmd/lockbench/internal/service/*.go", tests: ".*"},
	{files: "cmd/lockbench/internal/sizing/*.go", tests: ".*", args: []string{"-test.skip", "WhatFollowsIsAtMost"}},
	{files: "engine/attempt.go", tests: "TestNextStepOfAnAttempt|TestSplitVotesDouble.*|TestALeaseBegan.*|TestCrowdIsTold.*|TestDenialCounts.*"},
}

// mutants returns the mutants of a subject whose names have the text.
func (s subject) mutants(top, text string) (some []mutant, err error) {
	files, err := filepath.Glob(filepath.Join(top, s.files))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		name, err := filepath.Rel(top, file)
		if err != nil {
			return nil, err
		}
		all, err := mutantsOf(top, name)
		if err != nil {
			return nil, err
		}
		for _, m := range all {
			if strings.Contains(m.name, text) {
				some = append(some, m)
			}
		}
	}
	return some, nil
}

// explained has a line "mutant | reason" for each mutant without any visible effect.
//
//go:embed explained.txt
var explained string

// A tally counts mutants.
type tally struct{ killed, explained, survived int }

func (t tally) String() string {
	return fmt.Sprintf("%7d %7d %9d %8d", t.killed+t.explained+t.survived, t.killed, t.explained, t.survived)
}

// score plants the mutants. It prints a line for each mutant that survives without an explanation, and for each subject. It
// returns how many survive so. An error says that something is wrong with the tests, or with an explanation.
func score() (survived int, err error) {
	r, err := newRunner()
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(r.dir)
	fmt.Printf("%-40s %7s %7s %9s %8s\n", "", "mutants", "killed", "explained", "survived")
	var all tally
	for _, s := range subjects {
		began := time.Now()
		n, wrong := r.score(s)
		if err = errors.Join(err, wrong); n != (tally{}) {
			fmt.Printf("%-40s %s %6.1fs\n", s.files, n, time.Since(began).Seconds())
		}
		all = tally{all.killed + n.killed, all.explained + n.explained, all.survived + n.survived}
	}
	fmt.Printf("%-40s %s\n", "all", all)
	return all.survived, err
}

// score plants the mutants of a subject.
func (r *runner) score(s subject) (n tally, err error) {
	some, err := s.mutants(r.top, *only)
	if err != nil || len(some) == 0 {
		return n, err
	}
	if red, err := r.kills(s, mutant{file: "none"}); err != nil || red {
		return n, fmt.Errorf("%s: tests are red without a mutant: %w", s.files, err)
	}
	var mu sync.Mutex // guards the results, and the output
	done := 0
	each(some, func(m mutant) {
		killed, wrong := r.kills(s, m)
		mu.Lock()
		defer mu.Unlock()
		if done++; done%100 == 0 {
			fmt.Printf("%-40s %d of %d\n", s.files, done, len(some))
		}
		_, is := reasonFor(m.name)
		switch {
		case errors.Is(wrong, errNoProgram): // no mutant
		case wrong != nil:
			err = errors.Join(err, fmt.Errorf("%s: %w", m.name, wrong))
		case killed:
			n.killed++
			if is {
				err = errors.Join(err, fmt.Errorf("explained, but killed: %s", m.name))
			}
		case is:
			n.explained++
		default:
			n.survived++
			fmt.Println("SURVIVED", m.name)
		}
	})
	return n, err
}

// kills reports whether a test of the subject is red with the mutant. A test that takes far longer with the mutant is red, too.
func (r *runner) kills(s subject, m mutant) (red bool, err error) {
	dir, err := r.overlay(map[string]string{m.file: m.text})
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	args := append([]string{"-test.failfast", "-test.timeout", "20s"}, s.args...)
	red, _, err = r.test(filepath.Dir(s.files), s.tests, dir, args...)
	return red, err
}
