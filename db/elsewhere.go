package db

// OnElsewhere has fn called, before anything else is written, whenever another process
// has written to the database since this one did: a command beside a server, for instance.
// It is called inside the transaction and must not wait. It is to be set before the first
// Write that others wait for.
func (d *DB) OnElsewhere(fn func(r *Reader) error) { d.onElsewhere = append(d.onElsewhere, fn) }

// lookElsewhere has what is remembered of the database be read again where others wrote
// since the last group of writes.
func (d *DB) lookElsewhere(s *session, others bool) error {
	if !others {
		return nil
	}
	d.generations.bumpAll()
	*s.standings++
	for _, fn := range d.onElsewhere {
		if err := fn(&Reader{session: *s}); err != nil {
			return err
		}
	}
	return nil
}
