package result

import "muxlock/bench"

// A comparison without flags of the load has several loads. Each result names its load in Setting.
const LoadSetting = "load"

// LoadName names a load.
type LoadName string

// The loads.
const (
	OwnNames   LoadName = "own names"   // each worker has one: what the masters can do
	LoneCaller LoadName = "lone caller" // the same for one worker
	OneName    LoadName = "one name"    // wanted by several processes
)

// Load is one load of a comparison.
type Load struct {
	Name  LoadName `json:"name"`
	Impls []string `json:"impls"` // in the order of its table
	bench.Config
}

// Of returns the part of a document that is of one load; an empty document if it has none.
func (d Document) Of(name LoadName) Document {
	for i, l := range d.Config.Loads {
		if l.Name == name {
			return d.Parts()[i]
		}
	}
	return Document{}
}

// Parts returns the parts of a document by load. Without loads there is one part, the document.
func (d Document) Parts() (parts []Document) {
	if len(d.Config.Loads) == 0 {
		return []Document{d}
	}
	for _, l := range d.Config.Loads {
		part := d
		part.Config.Config, part.Config.Impls, part.Config.Loads = l.Config, l.Impls, nil
		part.Config.Rounds = d.Config.Rounds // in older documents, the loads have none
		part.Results = OfLoad(d.Results, l.Name)
		part.Relative = Where(d.Relative, func(r Relative) bool { return r.Load == l.Name })
		parts = append(parts, part)
	}
	return parts
}

// OfLoad returns the results of a load.
func OfLoad(results []*bench.Result, name LoadName) []*bench.Result {
	return Where(results, func(r *bench.Result) bool { return r.Setting[LoadSetting] == string(name) })
}
