package engine

import "time"

// externalWriteInterval is the shortest time between two values that the writer sends to
// Cluster.Changed. The next heartbeat reports changes in between.
const externalWriteInterval = 100 * time.Millisecond

// OnExternalWrite registers fn, which is called in the first transaction after another process
// has written to the database (a command that runs beside a server, for example), before any
// closure. fn must not block. Register it before the first Write that may rely on it.
func (d *DB) OnExternalWrite(fn func(r *Reader) error) {
	d.onExternalWrite = append(d.onExternalWrite, fn)
}

// OnExternalErasure registers fn, which is called like the function of OnExternalWrite if another
// process ran a step of an erasure, so that addresses of stored emails have changed.
func (d *DB) OnExternalErasure(fn func()) { d.onExternalErasure = append(d.onExternalErasure, fn) }

func noteExternalErasure(d *DB, erased bool) {
	if !erased {
		return
	}
	for _, fn := range d.onExternalErasure {
		fn()
	}
}

// noteExternalWrites invalidates what is cached from the database if other processes have written
// since the last group of writes.
func (d *DB) noteExternalWrites(s *Conn, others bool) error {
	if !others {
		return nil
	}
	d.generations.bumpAll()
	if now := time.Now(); now.Sub(d.lastExternalWrite) >= externalWriteInterval {
		d.lastExternalWrite = now
		notify(d.externalWrites)
	}
	s.changes[Suppressions]++
	for _, fn := range d.onExternalWrite {
		if err := fn(&Reader{Conn: *s}); err != nil {
			return err
		}
	}
	return nil
}
