package main

import (
	"slices"
	"strconv"
	"strings"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
)

// commandLine makes such a document again: every choice written out, folded to lines
// of a shell; empty where the document does not tell them. Passwords of masters are
// not known any more and have to be put in.
func commandLine(doc result.Document) string {
	c := doc.Config
	var words []string
	switch c.Command {
	case validateName:
		words = validateWords(doc)
	case "advise":
		words = append(wordsOf("advise", []setting{{"duration", []string{c.Duration.String()}}, {"fault", c.Faults}}, &c), asked(doc)...)
	case "chaos":
		if len(c.FaultKinds) == 0 {
			return ""
		}
		words = wordsOf("chaos", chaosSettings(c), &c)
	case "sweep":
		if doc.Sweep == nil {
			return ""
		}
		words = sweepWords(doc)
	case "compare":
		words = wordsOf("compare", settingsOf(c), &c)
	default:
		words = wordsOf("run", settingsOf(c), &c)
	}
	if doc.Advice != nil && c.Command != "advise" { // of a result of an earlier run
		measured := append(words, "-o json", "--out result.json")
		return folded(measured) + "\n" + folded(append([]string{"lockbench advise result.json"}, asked(doc)...))
	}
	return folded(words)
}

// wordsOf is a command with its flags, the one of its masters first if there are any.
func wordsOf(command string, settings []setting, masters *result.Config) []string {
	words := []string{"lockbench " + command}
	if masters != nil {
		target, err := targetOf(*masters)
		if err != nil {
			target = setting{"masters", []string{strings.Join(masters.Masters, ",")}}
		}
		settings = append([]setting{target}, settings...)
	}
	for _, s := range settings {
		for _, value := range s.values {
			if value != "0s" || slices.Contains(nonzero, s.flag) {
				words = append(words, "--"+s.flag+" "+quoted(value))
			}
		}
	}
	return words
}

// nonzero is the times whose default is not 0.
var nonzero = []string{"warmup", "probe-every"}

// only keeps the settings that which names.
func only(settings []setting, which func(flag string) bool) []setting {
	return slices.DeleteFunc(settings, func(s setting) bool { return !which(s.flag) })
}

// sweepWords has --param for what is swept instead of a flag of its own.
func sweepWords(doc result.Document) []string {
	c, search := doc.Config, len(doc.Capacity) > 0
	var params []string
	swept := map[string]bool{"rounds": search}
	own := false
	for _, p := range doc.Sweep.Params {
		if len(p.Values) == 0 { // the rate that was searched
			continue
		}
		var values []string
		for _, v := range p.Values {
			values = append(values, v.Text)
			own = own || p.Name == "dist" && v.Text == (bench.Dist{}).String()
		}
		swept[p.Name] = true
		params = append(params, "--param "+quoted(p.Name+"="+strings.Join(values, ",")))
	}
	swept["keys"] = swept["keys"] || own // have no meaning there
	masters := &c
	if swept["masters"] && c.Target == "local" {
		masters = nil
	}
	words := wordsOf("sweep", only(settingsOf(c), func(flag string) bool { return !swept[flag] }), masters)
	words = append(words, params...)
	if search {
		words = append(words, "--find-max")
	}
	return words
}

// chaosSettings is what chaos takes of a load; its seed draws the faults again.
func chaosSettings(c result.Config) []setting {
	own := []string{"impl", "workers", "procs", "keys", "hold", "duration", "ttl", "master-timeout", "seed"}
	settings := only(settingsOf(c), func(flag string) bool { return flag != "keys" && slices.Contains(own, flag) })
	return append(settings, setting{"keys", []string{strconv.Itoa(c.Keys)}}, setting{"faults", []string{strings.Join(c.FaultKinds, ",")}})
}

// asked is the flags of advise that say what is wanted.
func asked(doc result.Document) (words []string) {
	if doc.Advice == nil {
		return nil
	}
	ask := doc.Advice.Ask
	add := func(flag, value string) { words = append(words, "--"+flag+" "+quoted(value)) }
	if ask.HoldText != "" {
		add("hold", ask.HoldText)
	}
	add("eps", strconv.FormatFloat(ask.Eps, 'g', -1, 64))
	add("rto", ask.RTO.String())
	if ask.Rate > 0 {
		add("rate", strconv.FormatFloat(ask.Rate, 'g', -1, 64))
	}
	if ask.Waiters > 0 {
		add("waiters", strconv.Itoa(ask.Waiters))
	}
	return words
}

// validateWords names the cases that were looked at.
func validateWords(doc result.Document) []string {
	var cases []string
	for _, c := range doc.Validation {
		if !slices.Contains(cases, c.Case) {
			cases = append(cases, c.Case)
		}
	}
	return []string{"lockbench " + validateName, "--case " + strings.Join(cases, ","),
		"--duration " + doc.Config.Duration.String(), "--seed " + strconv.FormatUint(doc.Config.Seed, 10)}
}

// folded joins words to lines of a shell that fit into a window.
func folded(words []string) string {
	const width = 76
	text, line := "", ""
	for _, w := range words {
		if line != "" && len(line)+len(w) > width {
			text, line = text+line+" \\\n", "   "
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return text + line
}

// quoted protects a word from a shell, when it has to be.
func quoted(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.,:/@=+%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
