package engine

import "sync"

// generations count the changes of what counts of contacts rest on, by the id of
// the team or the segment that changed. They live as long as the process: what
// was counted does too. The zero value is ready.
type generations struct {
	mu  sync.Mutex
	of  map[string]uint64
	all uint64 // what another process may have changed
}

// bumpAll counts a change of everything.
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

// Generation is another number after every Write that changed contacts of the
// team, or members or the filter of the segment. Whoever reads it before a Read
// can tell later whether what was read there still stands. What other processes change
// is seen with the next Write of this one.
func (d *DB) Generation(teamID, segmentID string) uint64 {
	d.generations.mu.Lock()
	defer d.generations.mu.Unlock()
	return d.generations.all + d.generations.of[teamID] + d.generations.of[segmentID] // all only grow
}

// Changed notes that contacts of the team with that id changed, or members or
// the filter of the segment. It counts once the transaction is on disk.
func (tx *Tx) Changed(id string) {
	if tx.changed == nil {
		tx.changed = map[string]bool{}
	}
	tx.changed[id] = true
}
