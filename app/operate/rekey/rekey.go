package rekey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/seal"
	"mailer/db"
	"mailer/db/engine"
)

const (
	// retryInterval is how soon values are sealed again that were stored during a pass.
	retryInterval = 2 * time.Second
	// rotationInterval is how often values of older keys are searched while such keys exist, and
	// idleInterval how often otherwise: a process that read its keys long ago may use an old one.
	rotationInterval = 10 * time.Second
	idleInterval     = time.Hour
)

// Service follows the master key file and seals stored values again.
type Service struct {
	*base.Base
	file *File // nil: the keys never change
}

// New returns the service. file is nil if the keys do not come from a file.
func New(base *base.Base, file *File) *Service { return &Service{Base: base, file: file} }

// Start follows the file and seals values again in the background until the server stops.
func (s *Service) Start() {
	if s.file != nil {
		s.Workers.Go(s.work)
	}
}

// work checks the file each second: a stat is cheap and finds manual changes too.
func (s *Service) work() {
	var last, next time.Time
	newest := s.Sealer.Newest()
	for {
		s.follow()
		if newest != s.Sealer.Newest() {
			newest, next = s.Sealer.Newest(), time.Time{}
		}
		if s.file.met.Swap(false) && next.After(last.Add(retryInterval)) {
			next = last.Add(retryInterval)
		}
		if last = time.Now(); !last.Before(next) {
			next = last.Add(s.round())
		}
		if !base.Sleep(s.Claiming, base.SweepEvery, s.file.changed) {
			return
		}
	}
}

// follow applies changes of the file.
func (s *Service) follow() {
	changed, err := s.file.follow(s.mayRetire)
	switch {
	case errors.Is(err, errForeignKey):
		s.Log.Warn("the master key file contains another key; the server keeps using its current key, and the next start fails unless you restore the file", "file", s.file.Path)
	case errors.Is(err, errNeeded):
		s.Log.Warn("the master key file retires a key that is still in use; the server keeps using it until all values are encrypted with the new key", "file", s.file.Path, "err", err)
	case err != nil && s.Claiming.Err() == nil:
		s.Log.Warn("the master key file can't be read; the server keeps using its current key", "file", s.file.Path, "err", err)
	case changed:
		s.Log.Info("took up the keys of the master key file", "file", s.file.Path, "newest", s.Sealer.Newest().String(), "keys", len(s.Sealer.Keys()))
	}
}

// errNeeded is the error of retiring a key that values are sealed with.
var errNeeded = errors.New("it is needed")

// mayRetire returns errNeeded if values are sealed with the keys.
func (s *Service) mayRetire(retired []seal.MasterKey) error {
	c, err := s.count(s.Claiming)
	if err != nil {
		return err
	}
	for _, k := range retired {
		if n := c[k.Fingerprint()]; n > 0 {
			return fmt.Errorf("%w: %d values are sealed with key %s", errNeeded, n, k.Fingerprint())
		}
	}
	return nil
}

// round makes one pass and returns when to make the next.
func (s *Service) round() time.Duration {
	began := time.Now()
	n, err := s.reseal(s.Claiming, func(int) {})
	switch {
	case s.Claiming.Err() != nil:
		return 0
	case err != nil:
		s.LogUnlessUnavailable("seal anew", err)
		return rotationInterval
	case n > 0:
		s.Log.Info("sealed anew with the newest master key", "values", n, "took", time.Since(began).Round(time.Millisecond).String())
		return retryInterval
	}
	for _, k := range s.Sealer.Keys() {
		if !k.Retired && k.Fingerprint() != s.Sealer.Newest() {
			return rotationInterval
		}
	}
	return idleInterval
}

// Rotation is the result of a rotation.
type Rotation struct {
	Keys     int `json:"keys"`     // keys that open sealed values
	Resealed int `json:"resealed"` // values sealed again
	Left     int `json:"left"`     // values still sealed with older keys
}

// pollEvery is how often the progress of a server is checked, and serverWait how long it may make
// no progress.
const (
	pollEvery  = 300 * time.Millisecond
	serverWait = 15 * time.Second
)

// Rotate adds a key to the master key file and waits until all values are sealed with it: by the
// running server, which proves that it has the key, or by this process. If the server makes no
// progress, for instance because it can't read the file, values are left and nothing is lost.
// serving reports whether a server runs. progress is called from time to time.
func (s *Service) Rotate(ctx context.Context, serving func() bool, progress func(resealed, left int)) (Rotation, error) {
	keys, err := engine.ChangeMasterKeys(s.file.Path, addKey)
	if err != nil {
		return Rotation{}, err
	}
	if err := s.Sealer.SetKeys(keys); err != nil {
		return Rotation{}, err
	}
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		return base.Audit(ctx, tx, "", "master_key.rotate", s.Sealer.Newest().String(), nil, map[string]int{"keys": opening(keys)})
	})
	if err != nil {
		return Rotation{}, base.Unavailable(err)
	}
	return s.finish(ctx, Rotation{Keys: opening(keys)}, serving, progress)
}

// addKey adds a new key before the others.
func addKey(keys []seal.MasterKey) ([]seal.MasterKey, error) {
	taken := map[seal.Fingerprint]bool{}
	for _, k := range keys {
		taken[k.Fingerprint()] = true
	}
	added := seal.MasterKey{Key: seal.NewMasterKey()}
	for taken[added.Fingerprint()] {
		added.Key = seal.NewMasterKey()
	}
	return append([]seal.MasterKey{added}, keys...), nil
}

// opening returns how many keys open sealed values.
func opening(keys []seal.MasterKey) (n int) {
	for _, k := range keys {
		if !k.Retired {
			n++
		}
	}
	return n
}

// finish waits until no value is sealed with an older key.
func (s *Service) finish(ctx context.Context, r Rotation, serving func() bool, progress func(resealed, left int)) (Rotation, error) {
	c, err := s.count(ctx)
	if err != nil {
		return r, err
	}
	all, moved := c.left(s.Sealer.Newest()), time.Now()
	for r.Left = all; r.Left > 0 && time.Since(moved) < serverWait; {
		alone := !serving()
		if alone {
			_, err = s.reseal(ctx, func(n int) { progress(n, all-n) })
		} else {
			base.Sleep(ctx, pollEvery, nil)
		}
		if err == nil {
			c, err = s.count(ctx)
		}
		if err != nil {
			return r, err
		}
		left := c.left(s.Sealer.Newest())
		if left != r.Left {
			r.Left, moved = left, time.Now()
		} else if alone { // the remaining values can't be opened
			return r, nil
		}
		r.Resealed = max(0, all-r.Left)
		progress(r.Resealed, r.Left)
	}
	return r, nil
}

// Retirement is the result of retiring the older keys.
type Retirement struct {
	Keys    int `json:"keys"`    // keys that open sealed values
	Retired int `json:"retired"` // keys that only verify tokens, including earlier ones
	Left    int `json:"left"`    // values sealed with older keys: 0
}

// Retire retires all keys except the newest: from then on they only verify tokens that never
// expire. Error: CodeConflict while values are sealed with them, or if there is no older key.
func (s *Service) Retire(ctx context.Context) (Retirement, error) {
	c, err := s.count(ctx)
	if err != nil {
		return Retirement{}, err
	}
	newest := s.Sealer.Newest()
	if left := c.left(newest); left > 0 {
		return Retirement{}, app.Errorf(app.CodeConflict, "%d values are still sealed with older master keys, so none is retired; a running server seals them anew within seconds, a stopped one at its next start; mailer master-key list tells how many are left", left)
	}
	keys, err := engine.ChangeMasterKeys(s.file.Path, func(keys []seal.MasterKey) ([]seal.MasterKey, error) { return retire(keys, newest) })
	if err != nil {
		return Retirement{}, err
	}
	r := Retirement{Keys: 1, Retired: len(keys) - 1}
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		return base.Audit(ctx, tx, "", "master_key.retire", newest.String(), nil, map[string]int{"retired": r.Retired})
	})
	return r, base.Unavailable(err)
}

// retire marks all keys except the newest.
func retire(keys []seal.MasterKey, newest seal.Fingerprint) ([]seal.MasterKey, error) {
	at := slices.IndexFunc(keys, func(k seal.MasterKey) bool { return !k.Retired })
	if keys[at].Fingerprint() != newest {
		return nil, app.Errorf(app.CodeConflict, "The master key was rotated meanwhile, and none is retired; try again")
	}
	if opening(keys) == 1 {
		return nil, app.Errorf(app.CodeConflict, "There is one master key alone, which can't be retired; mailer master-key rotate adds another")
	}
	for i := range keys[at+1:] {
		keys[at+1+i].Retired = true
	}
	return keys, nil
}

// The states of a key.
const (
	Seals   = "seals"   // the newest key, which opens too
	Opens   = "opens"   // an older key
	Retired = "retired" // only verifies tokens
	Unknown = "unknown" // not in the file, but values are sealed with it
)

// Key is a master key in the operator's list.
type Key struct {
	Fingerprint string `json:"key"`
	State       string `json:"state"`
	Sealed      int    `json:"sealed"` // values sealed with the key
}

// List returns the keys in the order of the file with the number of values sealed with each. Keys
// missing in the file come last.
func (s *Service) List(ctx context.Context) ([]Key, error) {
	c, err := s.count(ctx)
	if err != nil {
		return nil, err
	}
	var out []Key
	for _, k := range s.Sealer.Keys() {
		print, state := k.Fingerprint(), Opens
		switch {
		case k.Retired:
			state = Retired
		case print == s.Sealer.Newest():
			state = Seals
		}
		out = append(out, Key{print.String(), state, c[print]})
		delete(c, print)
	}
	for print, n := range c {
		out = append(out, Key{print.String(), Unknown, n})
	}
	return out, nil
}
