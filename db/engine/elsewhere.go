package engine

import "time"

// hearEvery is the least time between two groups of writes that have Heard tell: what is
// missed a beat tells.
const hearEvery = 100 * time.Millisecond

// OnElsewhere has fn called, before anything else is written, whenever another process
// has written to the database since this one did: a command beside a server, for instance.
// It is called inside the transaction and must not wait. It is to be set before the first
// Write that others wait for.
func (d *DB) OnElsewhere(fn func(r *Reader) error) { d.onElsewhere = append(d.onElsewhere, fn) }

// OnErasedElsewhere has fn called as OnElsewhere does, where what another process wrote was an
// erasure, or a step of one: texts of mail are other ones by now.
func (d *DB) OnErasedElsewhere(fn func()) { d.onErased = append(d.onErased, fn) }

func erasedElsewhere(d *DB, erased bool) {
	if !erased {
		return
	}
	for _, fn := range d.onErased {
		fn()
	}
}

// LookElsewhere has what others wrote be known, as the first question of any closure does.
func (tx *Tx) LookElsewhere() error {
	var n int
	return tx.Row(`SELECT count(*) FROM settings WHERE name = ''`, nil, &n)
}

// lookElsewhere has what is remembered of the database be read again where others wrote
// since the last group of writes.
func (d *DB) lookElsewhere(s *Conn, others bool) error {
	if !others {
		return nil
	}
	d.generations.bumpAll()
	if now := time.Now(); now.Sub(d.told) >= hearEvery {
		d.told = now
		ring(d.heard)
	}
	s.counted.standings++
	for _, fn := range d.onElsewhere {
		if err := fn(&Reader{Conn: *s}); err != nil {
			return err
		}
	}
	return nil
}
