package engine

import "sync"

// generations counts changes that affect cached counts of contacts, by the id of the team or
// segment that changed. The counters are kept in memory only, as are the cached counts. The zero
// value is ready to use.
type generations struct {
	mu  sync.Mutex
	of  map[string]uint64
	all uint64 // changes of other processes, which may affect any id
}

// bumpAll counts a change of every id.
func (g *generations) bumpAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all++
}

func (g *generations) bump(ids map[string]bool) {
	if len(ids) == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.of == nil {
		g.of = map[string]uint64{}
	}
	for id := range ids {
		g.of[id]++
	}
}

// Generation returns a number that changes with every Write that changed contacts of the team, or
// members or the filter of the segment. A caller that gets the same number before a Read and
// later knows that what it read is still current. Changes of other processes are noticed with the
// next Write of this process.
func (d *DB) Generation(teamID, segmentID string) uint64 {
	d.generations.mu.Lock()
	defer d.generations.mu.Unlock()
	return d.generations.all + d.generations.of[teamID] + d.generations.of[segmentID] // a sum of counters that only grow
}

// ChangedCounts notes that contacts of the team with this id changed, or members or the filter of the
// segment. It takes effect when the transaction is on disk.
func (tx *Tx) ChangedCounts(id string) {
	tx.Changed(Counts)
	if tx.changed == nil {
		tx.changed = map[string]bool{}
	}
	tx.changed[id] = true
}
