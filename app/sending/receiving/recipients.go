package receiving

import (
	"context"
	"errors"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/db"
)

// Errors of Recipient and Take.
var (
	// ErrNotHere: no team receives mail for the address.
	ErrNotHere = errors.New("receiving: the address is not received here")
	// ErrNotNow: a team did until recently; its domain may be set up again.
	ErrNotNow = errors.New("receiving: the domain of the address is not set up at present")
	// ErrFull: the team has received its share of the day, or the disk has little space left.
	ErrFull = errors.New("receiving: no more mail is taken at present")
	// ErrTooLarge: the message needs more memory than the process may use.
	ErrTooLarge = errors.New("receiving: the message is too large for the memory of this server")
)

// graceAfterEnd is how long mail for a domain is answered with a temporary error after it no longer receives.
const graceAfterEnd = 72 * time.Hour

// Recipient returns the team that receives mail for an address. A domain receives while it is verified for exactly one
// team, which wants its mail, and the last check found the MX record of this server. Errors: ErrNotHere,
// ErrNotNow, ErrFull, those of the store.
func (s *Service) Recipient(ctx context.Context, address string) (t Target, err error) {
	a, err := app.ParseAddress(address)
	if err != nil {
		return t, ErrNotHere
	}
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		domains, err := r.DomainsNamed(a.Domain)
		if err != nil {
			return err
		}
		var d *db.ReceivingDomain
		verified, lately := 0, false
		for i := range domains {
			if domains[i].Verified {
				verified++
			}
			if domains[i].Wanted && domains[i].Verified && domains[i].Receives {
				d = &domains[i]
			}
			lately = lately || domains[i].Wanted && clock.Since(domains[i].ReceivesAt) < graceAfterEnd
		}
		switch {
		case d != nil && verified == 1:
		case lately:
			return ErrNotNow
		default:
			return ErrNotHere
		}
		if err := s.checkDay(r, d.TeamID, clock.Now()); err != nil {
			return err
		}
		t = Target{Address: address, TeamID: d.TeamID, DomainID: d.ID}
		return nil
	})
	if err == nil {
		err = s.checkDisk()
	}
	return t, err
}

// checkDay returns ErrFull if a team has received its share of a day.
func (s *Service) checkDay(r *db.Reader, teamID string, day time.Time) error {
	emails, bytes, err := r.ReceivedOn(teamID, day)
	if err == nil && (emails >= s.DailyEmails || bytes >= s.DailyBytes) {
		err = ErrFull
	}
	return err
}

// checkDisk returns ErrFull if the disk has little space left, so that mail of teams keeps its room.
func (s *Service) checkDisk() error {
	free, size, err := s.DiskFree()
	if err != nil {
		return err
	}
	if free < minFreeBytes && free < size/minFreePart {
		return ErrFull
	}
	return nil
}
