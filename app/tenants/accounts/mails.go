package accounts

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"mailer/db"
)

// mailSender is the beginning of the From address of Mailer's own mail, at a verified domain.
const mailSender = "Mailer <mailer@"

// How many invitations are mailed within mailWindow, whatever becomes of them: by a team to an
// address, by a team, and to an address by all teams. Further invitations are only shown to the
// inviting person.
const (
	mailWindow         = 24 * time.Hour
	maxMailsPerPair    = 1
	maxMailsPerTeam    = 20
	maxMailsPerAddress = 5
)

// mailOrigin is the domain that a mail to a user is sent from, and its team. The zero value sends
// no mail.
type mailOrigin struct{ team, domain string }

// mailDomainOf returns a verified domain of a team that is not suspended. Error: db.ErrNotFound.
func mailDomainOf(r *db.Reader, team string) (from mailOrigin, err error) {
	suspended, err := r.IsSuspended(team)
	if err == nil && suspended {
		err = db.ErrNotFound
	}
	if err != nil {
		return from, err
	}
	domain, err := r.VerifiedDomain(team)
	return mailOrigin{team, domain}, err
}

// firstMailDomain returns a domain of the first of some teams that has one; the zero value if none
// has.
func firstMailDomain(r *db.Reader, teams ...string) (mailOrigin, error) {
	for _, team := range teams {
		from, err := mailDomainOf(r, team)
		if !errors.Is(err, db.ErrNotFound) {
			return from, err
		}
	}
	return mailOrigin{}, nil
}

// deliver sends a mail of Mailer's own. A failure is logged without the text and not returned: no
// action on an account depends on a mail.
func (s *Service) deliver(ctx context.Context, from mailOrigin, to, subject, text string) {
	if s.SendMail == nil || from.domain == "" {
		return
	}
	if err := s.SendMail(context.WithoutCancel(ctx), from.team, mailSender+from.domain+">", to, subject, text); err != nil {
		s.Log.Warn("a mail to a person was not accepted", "subject", subject, "err", err)
	}
}

// mailUser mails a user about his account, from a domain of the first team, which is the
// operator's, or else of the team that the user joined first. Later teams are not used.
func (s *Service) mailUser(ctx context.Context, u *User, subject, text string) {
	if s.SendMail == nil {
		return
	}
	from, err := db.Get(context.WithoutCancel(ctx), s.DB, func(r *db.Reader) (from mailOrigin, err error) {
		first, err := r.FindTeam("")
		if err != nil {
			return from, err
		}
		joined, err := r.Memberships(u.ID)
		if err != nil {
			return from, err
		}
		teams := []string{first.ID}
		if len(joined) > 0 {
			teams = append(teams, slices.MinFunc(joined, func(a, b Membership) int {
				return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.TeamID, b.TeamID))
			}).TeamID)
		}
		return firstMailDomain(r, teams...)
	})
	if err != nil {
		s.Log.Warn("a mail to a person was not accepted", "subject", subject, "err", err)
		return
	}
	s.deliver(ctx, from, u.Address, subject, text)
}

// reserveInvitationMail returns the origin of an invitation's mail and counts the mail: a domain of
// the inviting team, or else of the first team. It returns the zero value for a suspended team,
// without such a domain, and if enough were sent recently.
func (s *Service) reserveInvitationMail(tx *db.Tx, i *Invitation) (from mailOrigin, err error) {
	if s.SendMail == nil {
		return from, nil
	}
	suspended, err := tx.IsSuspended(i.TeamID)
	if err != nil || suspended {
		return from, err
	}
	hash := hashOf(i.Address)
	pair, team, address, err := tx.InvitationMails(i.TeamID, hash, tx.Now.Add(-mailWindow))
	if err != nil || pair >= maxMailsPerPair || team >= maxMailsPerTeam || address >= maxMailsPerAddress {
		return from, err
	}
	first, err := tx.FindTeam("")
	if err != nil {
		return from, err
	}
	if from, err = firstMailDomain(&tx.Reader, i.TeamID, first.ID); err != nil || from.domain == "" {
		return from, err
	}
	return from, tx.PutInvitationMail(i.TeamID, hash)
}

// mailInvitation mails an invitation. A mail from a domain of another team contains no text of the
// inviting team.
func (s *Service) mailInvitation(ctx context.Context, from mailOrigin, i *Invitation, link string) {
	team, subject := "a team", "You were invited to Mailer"
	if from.team == i.TeamID {
		team, subject = "the team "+i.TeamName, "You were invited to "+i.TeamName
	}
	var text strings.Builder
	text.WriteString("You were invited to join " + team + " on Mailer, at " + s.Settings.BaseURL + ", as " + string(i.Role) + ".\n\n")
	text.WriteString("This link joins it, once, within seven days:\n" + link + "\n")
	text.WriteString("\nIf you did not expect this, leave it be: without you nothing happens.\n")
	s.deliver(ctx, from, i.Address, subject, text.String())
}
