package mail

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mailer/app"
	"mailer/db"
)

// errChecked rolls back the trial acceptance of an email whose attachments are to be fetched.
var errChecked = errors.New("accepted on trial")

// fetchAttachments fetches the attachments of an email that are given as URLs, after all checks of
// its acceptance: nothing is fetched for an email that would be refused. The caller calls release
// when the email is accepted. Errors: those of Accept, CodeValidation, CodePayloadTooLarge,
// CodeRateLimitExceeded.
func (s *Service) fetchAttachments(ctx context.Context, email *app.Email) (release func(), err error) {
	var limit int64
	trial := *email
	trial.Attachments = slices.DeleteFunc(slices.Clone(email.Attachments), func(a app.Attachment) bool { return a.Path != "" })
	err = s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		if err := s.Accept(tx, &trial); err != nil {
			return err
		}
		if limit, err = s.teams.AttachmentLimit(&tx.Reader, email.TeamID); err != nil {
			return err
		}
		return errChecked
	})
	if !errors.Is(err, errChecked) {
		return nil, s.refusal(ctx, email, err)
	}
	return s.FetchInto(ctx, email.TeamID, email.Attachments, limit)
}

// FetchInto fetches the files that are given as URLs. limit is the size of all files together. The
// caller calls release when the files are stored. Errors: CodeValidation, CodePayloadTooLarge,
// CodeRateLimitExceeded.
func (s *Service) FetchInto(ctx context.Context, teamID string, attachments []app.Attachment, limit int64) (release func(), err error) {
	var urls []string
	var files []int // their places in attachments
	for i := range attachments {
		if a := &attachments[i]; a.Path != "" {
			urls, files = append(urls, a.Path), append(files, i)
		}
	}
	contents, release, err := s.FetchFiles(ctx, teamID, urls, limit-app.SumSizes(attachments))
	var failed *app.FetchError
	var tooMany *app.FetchLimitError
	switch {
	case errors.As(err, &failed) && failed.Reason == app.FetchTooLarge:
		return nil, app.Errorf(app.CodePayloadTooLarge, "`attachments[%d].path` %s: at most %d bytes together", files[failed.Index], failed.Reason, limit)
	case errors.As(err, &failed):
		return nil, app.Invalid(fmt.Sprintf("attachments[%d].path", files[failed.Index]), "%s", failed.Reason)
	case errors.As(err, &tooMany):
		return nil, &app.Error{Code: app.CodeRateLimitExceeded, Message: "Too many attachments are being fetched for this team, try again later", RetryAfter: tooMany.RetryAfter}
	case err != nil:
		return nil, err
	}
	for i, content := range contents {
		a := &attachments[files[i]]
		a.Content, a.Size, a.Path = content, int64(len(content)), ""
	}
	return release, nil
}
