package mail

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/kit/schedule"
	"mailer/db"
)

// Shares implements public links to emails. Anybody with a link can read the email until the link
// expires.
type Shares struct{ service *Service }

const (
	sharePurpose = "shared email v1"
	// maxShareTime is the longest and the default lifetime of a link.
	maxShareTime = 48 * time.Hour
	shareLen     = 8 + 2*36 // an expiry and two ids
)

// ShareEmail returns the signed part of the URL of a page with an email. Errors: CodeNotFound,
// CodeValidation.
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

// errContentDeleted is the error of an email without content.
func errContentDeleted(email *app.Email) error {
	if email.Unsent {
		return app.Errorf(app.CodeNotFound, "This send was refused, since all of its recipients are suppressed: its content was not kept")
	}
	why := "it was older than this team keeps it"
	if isErased(email) {
		why = "its recipient was erased"
	}
	return app.Errorf(app.CodeNotFound, "The content of this email was deleted on %s: %s", email.ContentDeletedAt.UTC().Format(time.DateOnly), why)
}

// isErased reports whether an email has recipients, and all were erased.
func isErased(email *app.Email) bool {
	all := slices.Concat(email.To, email.Cc, email.Bcc)
	return len(all) > 0 && !slices.ContainsFunc(all, func(a app.Address) bool { return !a.IsErased() })
}

// sharedHead returns an email, or that of a recipient of a broadcast, without content.
func (s *Shares) sharedHead(ctx context.Context, teamID, id string) (*app.Email, error) {
	email, err := db.Get(ctx, s.service.DB, func(r *db.Reader) (*app.Email, error) { return r.EmailRow(teamID, id) })
	if err == nil {
		return email, nil
	}
	return s.service.GetEmail(ctx, &app.Key{TeamID: teamID}, id)
}

// parseShareSpan parses the lifetime of a link, like 10m or 2 hours. Errors: CodeValidation.
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

// SharedEmail returns the email of a token. Errors: CodeNotFound, with the same message for any
// invalid token.
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

// hideSharedError makes the page of a deleted email look like one with an invalid token.
func hideSharedError(err error) error {
	var refusal *app.Error
	if err == nil || errors.As(err, &refusal) && refusal.Code == app.CodeNotFound {
		return app.NotFound("page")
	}
	return err
}
