package mail

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/kit/schedule"
	"mailer/db"
)

// Shares are public links to emails: whoever has one can read the email until it ends.
type Shares struct{ service *Service }

const (
	sharePurpose = "shared email v1"
	// maxShareTime is how long a link works at most, and where nothing else is asked for.
	maxShareTime = 48 * time.Hour
	shareLen     = 8 + 2*36 // a time and two ids
)

// ShareEmail returns the signed part of the address of a page that shows an email.
// Errors: CodeNotFound, CodeValidation.
func (s *Shares) ShareEmail(ctx context.Context, key *app.Key, id, expiresIn string) (token string, err error) {
	span, err := parseShareSpan(expiresIn)
	if err != nil {
		return "", err
	}
	email, err := s.sharedHead(ctx, key.TeamID, id)
	if err != nil {
		return "", err
	}
	if !email.ContentDeletedAt.IsZero() {
		return "", errContentDeleted(email)
	}
	message := binary.BigEndian.AppendUint64(make([]byte, 0, shareLen), uint64(clock.Now().Add(span).Unix()))
	return s.service.Sealer.SealToken(sharePurpose, append(message, key.TeamID+id...)), nil
}

// errContentDeleted is said of an email that is asked to be shown.
func errContentDeleted(email *app.Email) error {
	if email.Unsent {
		return app.Errorf(app.CodeNotFound, "This send was refused, since all of its recipients are suppressed: its content was not kept")
	}
	return app.Errorf(app.CodeNotFound, "The content of this email was deleted on %s: it was older than this team keeps it", email.ContentDeletedAt.UTC().Format(time.DateOnly))
}

// sharedHead returns an email, or that of a recipient of a broadcast, without content.
func (s *Shares) sharedHead(ctx context.Context, teamID, id string) (*app.Email, error) {
	email, err := db.Get(ctx, s.service.DB, func(r *db.Reader) (*app.Email, error) { return r.EmailRow(teamID, id) })
	if err == nil {
		return email, nil
	}
	return s.service.GetEmail(ctx, &app.Key{TeamID: teamID}, id)
}

// parseShareSpan reads how long a link works: like 10m, or 2 hours. Errors: CodeValidation.
func parseShareSpan(text string) (time.Duration, error) {
	if text == "" {
		return maxShareTime, nil
	}
	span, err := schedule.ParseSpan(text)
	if err != nil {
		now := clock.Now()
		var at time.Time
		if at, err = schedule.Parse("in "+strings.TrimPrefix(text, "in "), now); err == nil {
			span = at.Sub(now)
		}
	}
	if err != nil || span < time.Second || span > maxShareTime {
		return 0, app.Invalid("expires_in", "must be a time span of at most 48 hours, like 10m or 2 hours")
	}
	return span, nil
}

// SharedEmail returns the email that a token shows. Errors: CodeNotFound, one text for
// whatever is wrong.
func (s *Shares) SharedEmail(ctx context.Context, token string) (*app.Email, error) {
	message, ok := s.service.Sealer.OpenToken(sharePurpose, token, shareLen, shareLen)
	if !ok || clock.Now().Unix() >= int64(binary.BigEndian.Uint64(message)) {
		return nil, app.NotFound("page")
	}
	ids := string(message[8:])
	email, err := s.service.GetEmail(ctx, &app.Key{TeamID: ids[:36]}, ids[36:])
	if err != nil || !email.ContentDeletedAt.IsZero() {
		return nil, hideSharedError(err)
	}
	return email, nil
}

// hideSharedError has a page of an email that is not there look like one of a wrong token.
func hideSharedError(err error) error {
	var refusal *app.Error
	if err == nil || errors.As(err, &refusal) && refusal.Code == app.CodeNotFound {
		return app.NotFound("page")
	}
	return err
}
