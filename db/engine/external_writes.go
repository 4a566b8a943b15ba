package engine

import "time"

// externalWriteInterval is the least time between two groups of writes that have Heard tell: what is
// missed a beat tells.
const externalWriteInterval = 100 * time.Millisecond

// OnExternalWrite has fn called, before anything else is written, whenever another process
// has written to the database since this one did: a command beside a server, for instance.
// It is called inside the transaction and must not wait. It is to be set before the first
// Write that others wait for.
func (d *DB) OnExternalWrite(fn func(r *Reader) error) {
	d.onExternalWrite = append(d.onExternalWrite, fn)
}

// OnExternalErasure has fn called as OnExternalWrite does, where what another process wrote was an
// erasure, or a step of one: texts of mail are other ones by now.
func (d *DB) OnExternalErasure(fn func()) { d.onExternalErasure = append(d.onExternalErasure, fn) }

func noteExternalErasure(d *DB, erased bool) {
	if !erased {
		return
	}
	for _, fn := range d.onExternalErasure {
		fn()
	}
}

// SeeExternalWrites has what others wrote be known, as the first question of any closure does.
func (tx *Tx) SeeExternalWrites() error {
	var n int
	return tx.Row(`SELECT count(*) FROM settings WHERE name = ''`, nil, &n)
}

// noteExternalWrites has what is remembered of the database be read again where others wrote
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
	s.counted.suppressions++
	for _, fn := range d.onExternalWrite {
		if err := fn(&Reader{Conn: *s}); err != nil {
			return err
		}
	}
	return nil
}
