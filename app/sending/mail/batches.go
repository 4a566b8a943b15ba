package mail

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/tenants/teams"
	"mailer/db"
)

// BatchItem is one send of a batch: its input, or the error of its shape.
type BatchItem struct {
	Input *app.EmailInput
	Err   error
}

// BatchResult is the answer to a batch: the ids of accepted emails, in the order of the request,
// and the errors of the others.
type BatchResult struct {
	IDs    []string         `json:"ids"`
	Errors []app.BatchError `json:"errors"`
}

// SendBatch accepts up to app.MaxBatch emails in one Write. A strict batch is accepted whole, or
// refused with the error of its first bad item, whose message then begins with "emails.{index}: ".
// A permissive batch accepts the good items and lists the errors of the others. Errors: those of
// SendEmail.
func (s *Service) SendBatch(ctx context.Context, key *app.Key, items []BatchItem, permissive bool, opts SendOptions) (*BatchResult, error) {
	defer s.Load.Enter()()
	if err := s.Ready(); err != nil {
		return nil, err
	}
	if len(items) < 1 || len(items) > app.MaxBatch {
		return nil, app.Errorf(app.CodeValidation, "The body must be an array of 1 to %d emails", app.MaxBatch)
	}
	b := &batch{s: s, permissive: permissive, emails: make([]*app.Email, len(items)), refusals: make([]error, len(items))}
	items = slices.Clone(items)
	for i, item := range items {
		if item.Err == nil {
			item.Input = s.withCompat(item.Input)
			items[i] = item
		}
		if err := b.prepare(key, i, item); err != nil {
			return nil, err
		}
	}
	claim, answer, err := s.claimIdempotency(ctx, key, routeBatch, opts)
	if err != nil {
		return nil, err
	}
	if answer != "" {
		return decodeAnswer[*BatchResult](answer)
	}
	defer claim.release()
	r := s.NewRenderer(key)
	defer r.Close()
	for i, item := range items {
		if err := b.render(ctx, r, i, item); err != nil {
			return nil, err
		}
	}
	var result *BatchResult
	err = s.DB.Write(db.Prefetch(ctx, b.nameQueries), func(tx *db.Tx) (err error) {
		if result, err = b.accept(tx); err != nil {
			return err
		}
		kept, err := json.Marshal(result)
		if err != nil {
			return fmt.Errorf("encode answer: %w", err)
		}
		return claim.keep(tx, string(kept))
	})
	if err != nil {
		if answer, err = claim.resolveFailure(ctx, s, s.refusal(ctx, b.unsent, err)); err != nil {
			return nil, err
		}
		return decodeAnswer[*BatchResult](answer)
	}
	return result, nil
}

// batch processes one batch.
type batch struct {
	s          *Service
	permissive bool
	emails     []*app.Email // nil where refusals has an error
	refusals   []error      // found without the database
	unsent     *app.Email   // refuses a strict batch, since all of its recipients are suppressed; nil: none does
}

// prepare makes the email of an item. An error refuses the batch.
func (b *batch) prepare(key *app.Key, i int, item BatchItem) error {
	err := item.Err
	if err == nil {
		b.emails[i], err = b.s.prepare(key, item.Input)
	}
	b.refusals[i] = err
	_, batchErr := b.itemError(i, err)
	return batchErr
}

// render makes the email of an item with a template. An error refuses the batch.
func (b *batch) render(ctx context.Context, r *renderer, i int, item BatchItem) error {
	if b.refusals[i] != nil || item.Input.Template == nil {
		return nil
	}
	b.emails[i], b.refusals[i] = r.email(ctx, item.Input)
	_, batchErr := b.itemError(i, b.refusals[i])
	return batchErr
}

// itemError returns what the error of an item means (app.RefuseItem).
func (b *batch) itemError(i int, err error) (item *app.BatchError, batchErr error) {
	return app.RefuseItem("emails", i, b.permissive, err)
}

// nameQueries runs the queries of accept, for db.Prefetch.
func (b *batch) nameQueries(r *db.Reader) {
	for i, email := range b.emails {
		if b.refusals[i] == nil {
			b.s.nameQueries(r, email)
		}
	}
}

// accept writes the good items, or none if one exceeds the quota. It runs inside Write, possibly
// twice.
func (b *batch) accept(tx *db.Tx) (*BatchResult, error) {
	result := &BatchResult{IDs: []string{}, Errors: []app.BatchError{}}
	var quota error // refuses the batch, unless an item has another error
	errs := slices.Clone(b.refusals)
	b.unsent = nil
	broken := false // the store failed: the rest of the batch is skipped
	for i, email := range b.emails {
		if errs[i] == nil && !broken {
			errs[i] = b.s.Accept(tx, email)
			var refusal *app.Error
			broken = errs[i] != nil && !errors.As(errs[i], &refusal)
		}
	}
	for i, email := range b.emails {
		err := errs[i]
		if teams.ExceedsQuota(err) {
			quota = err
			continue
		}
		if b.permissive {
			err = b.s.explain(&tx.Reader, err) // this Write stores the answer
		}
		item, batchErr := b.itemError(i, err)
		switch {
		case batchErr != nil:
			b.unsent = email
			return nil, batchErr
		case item != nil && app.CodeOf(err) == app.CodeAllRecipientsSuppressed:
			recorded, err := b.s.Unsent.record(tx, email)
			if err != nil {
				return nil, err
			}
			if recorded {
				item.Message = unsentMessage(item.Message, email.ID)
			}
			result.Errors = append(result.Errors, *item)
		case item != nil:
			result.Errors = append(result.Errors, *item)
		default:
			result.IDs = append(result.IDs, email.ID)
		}
	}
	if quota != nil {
		return nil, quota
	}
	return result, nil
}
