package retention

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
	"mailer/db/engine"
)

// Disk is the disk usage in bytes.
type Disk struct {
	engine.FileSizes
	Free   int64       // free pages in the file
	Tables []DiskTable // largest first, with their indexes
	Teams  []DiskTeam  // largest first
}

// DiskTable is the usage of a table.
type DiskTable struct {
	Name  string
	Bytes int64
}

// DiskTeam is the usage of a team. Bytes are estimated from a sample of its emails.
type DiskTeam struct {
	ID, Team string
	Kept     app.Retention
	Emails   int64
	Bytes    int64
	Images   int64 // bytes of its images
	// OldContents and OldEmails count expired mail that was not examined yet. OldBytes estimates
	// its content.
	OldContents, OldEmails, OldBytes int64

	weights [parts]float64
}

// The parts of the database by whose weights tables are divided among teams.
const (
	partContent = iota
	partEmails
	partRecipients
	partContacts
	partImages
	partReceived
	parts
)

// partOf maps a table to the weight by which it is divided. Other tables belong to no team.
var partOf = map[string]int{
	"contents": partContent, "attachments": partContent, "attachment_pieces": partContent, "captures": partContent,
	"emails": partEmails, "recipients": partEmails, "events": partEmails, "provider_ids": partEmails,
	"broadcast_recipients": partRecipients, "broadcast_clicks": partRecipients,
	"images": partImages, "image_pieces": partImages,
	"received_emails": partReceived, "received_contents": partReceived, "received_pieces": partReceived,
	"contacts": partContacts, "members": partContacts, "choices": partContacts,
	"automation_runs": partContacts, "automation_run_steps": partContacts, "automation_entries": partContacts, "automation_members": partContacts, "automation_signals": partContacts,
}

const (
	// idsAtOnce is how many emails one snapshot counts.
	idsAtOnce = 5000
	// samples is how many emails of a team are read to estimate their size.
	samples = 200
)

// keptSince returns since when received mail is kept.
func keptSince(b *base.Base) (since time.Time) {
	if kept := b.Settings.Rules().Keep.Received; kept > 0 {
		since = clock.Now().Add(-kept)
	}
	return since
}

// Received is the mail of other servers that all teams received.
type Received struct {
	Emails int64 `json:"emails"` // today and yesterday, in UTC
	Bytes  int64 `json:"bytes"`  // of these
	Stored int64 `json:"stored"` // bytes of all that is kept, about: what an erasure deleted counts until it had expired
}

// ReceivedOf returns what all teams received.
func ReceivedOf(ctx context.Context, b *base.Base) (out Received, err error) {
	err = b.DB.Read(ctx, func(r *db.Reader) error {
		if _, out.Stored, err = r.AllReceived(keptSince(b)); err != nil {
			return err
		}
		out.Emails, out.Bytes, err = r.AllReceived(clock.Now().Add(-24 * time.Hour))
		return err
	})
	return out, err
}

// Disk computes the disk usage in short reads, in a server or a command.
func (s *Service) Disk(ctx context.Context) (out *Disk, err error) {
	out = &Disk{}
	if out.FileSizes, err = s.DB.FileSizes(); err != nil {
		return nil, err
	}
	space, err := s.DB.Space(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the pages: %w", err)
	}
	out.Free = space.Free
	for name, bytes := range space.Tables {
		out.Tables = append(out.Tables, DiskTable{name, bytes})
	}
	slices.SortStableFunc(out.Tables, func(a, b DiskTable) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name)) })
	teams, err := db.Get(ctx, s.DB, (*db.Reader).Retentions)
	if err != nil {
		return nil, base.Unavailable(err)
	}
	for i := range teams {
		team, err := s.weigh(ctx, &teams[i])
		if err != nil {
			return nil, fmt.Errorf("measure the usage of team %s: %w", teams[i].TeamID, err)
		}
		out.Teams = append(out.Teams, team)
	}
	out.distribute()
	return out, nil
}

// distribute divides the tables among the teams.
func (d *Disk) distribute() {
	var sums [parts]float64
	for _, t := range d.Teams {
		for part, weight := range t.weights {
			sums[part] += weight
		}
	}
	for _, table := range d.Tables {
		part, shared := partOf[table.Name]
		if !shared || sums[part] == 0 {
			continue
		}
		for i := range d.Teams {
			d.Teams[i].Bytes += int64(float64(table.Bytes) * d.Teams[i].weights[part] / sums[part])
		}
	}
	slices.SortStableFunc(d.Teams, func(a, b DiskTeam) int { return cmp.Compare(b.Bytes, a.Bytes) })
}

// weigh counts a team's emails and reads a sample.
func (s *Service) weigh(ctx context.Context, own *app.TeamRetention) (DiskTeam, error) {
	t := DiskTeam{ID: own.TeamID, Team: own.Team, Kept: own.Over(s.Settings.Rules().Keep)}
	content, email, err := s.ages(ctx, &t)
	if err != nil {
		return t, err
	}
	picked := make([]string, 0, samples)
	chance := rand.New(rand.NewPCG(1, 2)) // deterministic
	for after := ""; ; {
		ids, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]string, error) { return r.EmailIDs(t.ID, after, idsAtOnce) })
		if err != nil {
			return t, err
		}
		for _, id := range ids {
			t.Emails++
			if len(picked) < samples {
				picked = append(picked, id)
			} else if at := chance.Int64N(t.Emails); at < samples {
				picked[at] = id
			}
			if content.holds(id) {
				t.OldContents++
			}
			if email.holds(id) {
				t.OldEmails++
			}
		}
		if len(ids) < idsAtOnce {
			break
		}
		after = ids[len(ids)-1]
	}
	return t, s.sample(ctx, &t, picked)
}

// span is the range of ids of expired emails that were not examined.
type span struct{ after, before string }

func (s span) holds(id string) bool { return id > s.after && id < s.before }

// ages returns which emails are expired, by content and as a whole.
func (s *Service) ages(ctx context.Context, t *DiskTeam) (content, email span, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if content, err = spanOf(r, t.ID, db.AgedContent, contentKept(t.Kept)); err != nil {
			return err
		}
		email, err = spanOf(r, t.ID, db.AgedEmail, t.Kept.Emails)
		return err
	})
	return content, email, err
}

func spanOf(r *db.Reader, teamID string, kind db.AgedKind, kept time.Duration) (s span, err error) {
	if kept == 0 {
		return s, nil
	}
	s.before = app.FirstID(clock.Now().Add(-kept))
	s.after, err = r.AgedUntil(teamID, kind)
	return s, err
}

// sample sets the weights of a team.
func (s *Service) sample(ctx context.Context, t *DiskTeam, picked []string) error {
	var sum int64
	var recipients, contacts, received int64
	err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
		sum = 0
		for _, id := range picked {
			size, err := r.ContentSize(id)
			if err != nil {
				return err
			}
			sum += size
		}
		if t.Images, err = r.ImageBytes(t.ID); err != nil {
			return err
		}
		if received, err = r.ReceivedBytes(t.ID, keptSince(s.Base)); err != nil {
			return err
		}
		recipients, contacts, err = r.TeamRows(t.ID)
		return err
	})
	if err != nil {
		return err
	}
	t.weights = [parts]float64{partEmails: float64(t.Emails), partRecipients: float64(recipients), partContacts: float64(contacts), partImages: float64(t.Images), partReceived: float64(received)}
	if len(picked) > 0 {
		mean := float64(sum) / float64(len(picked))
		t.weights[partContent] = mean * float64(t.Emails)
		t.OldBytes = int64(mean * float64(t.OldContents))
	}
	return nil
}
