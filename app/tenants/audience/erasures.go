package audience

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/erase"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// WithoutErasing removes recipients that are being erased from rows that are about to be stored.
// The rows were read before the erasure began; an erasure does not end while such rows are being
// stored (jobs.Service).
func (s *Service) WithoutErasing(tx *db.Tx, teamID string, rows []app.BroadcastRecipient) ([]app.BroadcastRecipient, error) {
	open, err := tx.ErasuresOf(teamID)
	if err != nil || len(open) == 0 {
		return rows, err
	}
	var addresses []string
	for _, row := range open {
		job, err := s.OpenErasure(row)
		if err != nil {
			continue // OpenErasures logs the error
		}
		addresses = append(addresses, job.Addresses...)
	}
	set := erase.NewSet(addresses)
	return slices.DeleteFunc(slices.Clone(rows), func(row app.BroadcastRecipient) bool { return set.Has(row.Email) }), nil
}

// MaxErasures is how many erasures are processed together.
const MaxErasures = 1000

// TeamErasures are the unfinished erasures of a team, oldest first.
type TeamErasures struct {
	ID   string
	Jobs []Erasure
}

// Set returns the addresses to erase from the object with an id: those whose erasure began after
// the object was made.
func (t *TeamErasures) Set(id string) *erase.Set {
	var addresses []string
	for _, job := range t.Jobs {
		if id <= job.Until {
			addresses = append(addresses, job.Addresses...)
		}
	}
	return erase.NewSet(addresses)
}

// First returns the last id that all erasures of the team cover.
func (t *TeamErasures) First() string {
	id := t.Jobs[0].Until
	for _, job := range t.Jobs {
		id = min(id, job.Until)
	}
	return id
}

// Until returns the last id that any erasure of the team covers.
func (t *TeamErasures) Until() (id string) {
	for _, job := range t.Jobs {
		id = max(id, job.Until)
	}
	return id
}

// OpenErasures reads the unfinished erasures.
func (s *Service) OpenErasures(ctx context.Context) ([]*TeamErasures, error) {
	rows, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]db.Erasure, error) { return r.Erasures(MaxErasures) })
	if err != nil {
		return nil, fmt.Errorf("read erasures: %w", err)
	}
	var out []*TeamErasures
	for _, row := range rows {
		job, err := s.OpenErasure(row)
		if err != nil { // the others must be done all the same
			s.Log.Error("an erasure can't be read, and is not done", "erasure", row.ID, "err", err)
			continue
		}
		at := slices.IndexFunc(out, func(t *TeamErasures) bool { return t.ID == row.TeamID })
		if at < 0 {
			at, out = len(out), append(out, &TeamErasures{ID: row.TeamID})
		}
		out[at].Jobs = append(out[at].Jobs, job)
	}
	return out, nil
}

// OpenErasure unseals an erasure. Errors: seal.ErrSeal, or one that contains nothing of its
// content.
func (s *Service) OpenErasure(row db.Erasure) (Erasure, error) {
	job := Erasure{ID: row.ID}
	plain, err := s.Sealer.Open(ErasePurpose, row.ID, row.Sealed)
	if err != nil {
		return job, err
	}
	if json.Unmarshal(plain, &job) != nil { // the JSON error might contain an address
		return job, errors.New("decode erasure")
	}
	return job, nil
}

// Erasure is the sealed content of a row of erasures.
type Erasure struct {
	ID        string   `json:"-"`
	Addresses []string `json:"addresses"` // address keys
	Until     string   `json:"until"`     // objects with a higher id came later
}

// ErasePurpose is the purpose that erasures are sealed for.
const ErasePurpose = "erasure"

// EraseContacts deletes contacts of a team, and their addresses from all fields that hold addresses
// and from logs, except the hashes that suppress mail to them. It deletes raw messages to them, and
// the content of mail to them alone. Texts for others are not searched. When it returns, no mail to
// them leaves, except mail past its final dot. The addresses are deleted too, unless that takes
// longer than eraseWait: the rest is then deleted in the background, also after a crash. Errors:
// those of the store.
func (s *Service) EraseContacts(ctx context.Context, teamID string, contacts []app.Contact) error {
	if len(contacts) == 0 {
		return nil
	}
	var job Erasure
	err := s.DB.WriteCritical(ctx, func(tx *db.Tx) (err error) {
		tx.AfterCommit(func() { s.erasuresBegun.increment(teamID) })
		job, err = s.BeginErasure(tx, teamID, contacts)
		return err
	})
	if err != nil {
		return base.Unavailable(fmt.Errorf("erase contacts: %w", err))
	}
	return s.RunErasure(ctx, teamID, job)
}

// BeginErasure starts an erasure inside a Write: it deletes the contacts, removes the addresses
// from their suppressions, and stores the work that remains.
func (s *Service) BeginErasure(tx *db.Tx, teamID string, contacts []app.Contact) (job Erasure, err error) {
	for i := range contacts {
		former, err := eraseFormer(tx, teamID, &contacts[i])
		if err != nil {
			return job, err
		}
		address, err := s.eraseContact(tx, teamID, &contacts[i])
		if err != nil {
			return job, err
		}
		job.Addresses = append(append(job.Addresses, address), former...)
	}
	job.ID = app.NewID()
	newest, err := tx.NewestEmail(teamID)
	if err != nil {
		return job, fmt.Errorf("find the newest email: %w", err)
	}
	broadcast, err := tx.NewestBroadcast(teamID)
	if err != nil {
		return job, fmt.Errorf("find the newest broadcast: %w", err)
	}
	job.Until = max(job.ID, newest, broadcast) // after the clock was set back new ids are smaller
	plain, err := json.Marshal(job)
	if err != nil {
		return job, fmt.Errorf("encode erasure: %w", err)
	}
	return job, tx.InsertErasure(db.Erasure{ID: job.ID, TeamID: teamID, Sealed: s.Sealer.Seal(ErasePurpose, job.ID, plain)})
}

// unknownContact stands for an address without a contact, to which mail may have been sent.
func unknownContact(teamID string, address app.AddressKey) app.Contact {
	return app.Contact{ID: app.NewID(), TeamID: teamID, Email: address.String()}
}

// eraseContact deletes a contact and returns the key of its address. It also erases a contact that
// was deleted or recreated meanwhile. An unsubscribed address stays suppressed.
func (s *Service) eraseContact(tx *db.Tx, teamID string, c *app.Contact) (address string, err error) {
	_, key, err := app.ParseBareAddress(c.Email)
	if err != nil {
		return "", fmt.Errorf("read the address of contact %s", c.ID)
	}
	unsubscribed, hash := c.Unsubscribed, s.Sealer.AddressHash(teamID, key)
	current, err := tx.Contact(teamID, c.ID)
	if errors.Is(err, db.ErrNotFound) {
		current, err = tx.ContactByAddress(teamID, hash)
	}
	if err == nil {
		unsubscribed = current.Unsubscribed
		err = s.deleteErased(tx, current)
	}
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return "", err
	}
	if err := tx.DeleteFormerAddress(teamID, hash); err != nil {
		return "", err
	}
	if err := tx.EraseOptIns(teamID, hash); err != nil {
		return "", err
	}
	err = tx.EraseSuppression(teamID, hash)
	if errors.Is(err, db.ErrNotFound) && unsubscribed {
		_, err = tx.InsertOptOut(&app.Suppression{ID: app.NewID(), TeamID: teamID, Hash: hash, CreatedAt: tx.Now})
	}
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return "", fmt.Errorf("erase suppression: %w", err)
	}
	return key.String(), nil
}

// eraseFormer removes the former addresses of a contact from suppressions, and returns those that
// no other contact has.
func eraseFormer(tx *db.Tx, teamID string, c *app.Contact) (addresses []string, err error) {
	former, err := tx.FormerAddresses(teamID, c.ID)
	if err != nil {
		return nil, fmt.Errorf("read former addresses: %w", err)
	}
	for _, f := range former {
		_, key, err := app.ParseBareAddress(f.Email)
		if err != nil {
			return nil, fmt.Errorf("read a former address of contact %s", c.ID)
		}
		if err := tx.EraseSuppression(teamID, f.Hash); err != nil && !errors.Is(err, db.ErrNotFound) {
			return nil, fmt.Errorf("erase suppression: %w", err)
		}
		if err := tx.EraseOptIns(teamID, f.Hash); err != nil {
			return nil, err
		}
		addresses = append(addresses, key.String())
	}
	return addresses, nil
}

// deleteErased deletes a contact and announces that without its address and name.
func (s *Service) deleteErased(tx *db.Tx, c app.Contact) error {
	segments, err := tx.SegmentsOf(c.TeamID, c.ID)
	if err != nil {
		return fmt.Errorf("read segments: %w", err)
	}
	if err := tx.DeleteContact(&c); err != nil {
		return err
	}
	if err := tx.EraseRuns(c.TeamID, c.ID); err != nil {
		return err
	}
	c.Email, c.FirstName, c.LastName = app.Erased, "", ""
	return s.announceContact(tx, webhook.ContactDeleted, &c, segments)
}
