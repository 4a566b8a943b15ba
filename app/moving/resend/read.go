package resend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/net/remote"
	"mailer/app/rules/archive"
)

// BaseURL is the base URL of Resend's API.
const BaseURL = "https://api.resend.com"

const (
	rate     = 10      // requests in a second, the limit of an account
	pageSize = 100     // items of a page, the maximum
	maxPages = 200_000 // of one list
)

// Options name the account.
type Options struct {
	APIKey    string            // with full access
	KeyFile   string            // source of the key for error messages; may be empty
	BaseURL   string            // empty: BaseURL
	Transport http.RoundTripper // nil: http.DefaultTransport

	page, pages int // 0: pageSize, maxPages
}

// Progress is called after each page with the number of items of a kind so far.
type Progress func(kind archive.Kind, items int)

// Errors of an API key.
var (
	ErrKey        = errors.New("the API key was refused by Resend")
	ErrSendingKey = errors.New("the API key may only send: make one with full access in Resend's dashboard, and remove it afterwards")
)

// Read reads an account into an archive. cursor is empty, or the result of archive.Resume to
// continue. Read does not finish the archive. Errors: ErrKey; ErrSendingKey; those of
// remote.Client and archive.Writer.
func Read(ctx context.Context, o Options, w *archive.Writer, cursor string, progress Progress) error {
	if o.BaseURL == "" {
		o.BaseURL = BaseURL
	}
	c, err := remote.New(o.BaseURL, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+o.APIKey) }, rate)
	if err != nil {
		return err
	}
	defer c.Close()
	if o.Transport != nil {
		c.WithTransport(o.Transport)
	}
	r := &reader{c: c, w: w, progress: progress, page: pageSize, pages: maxPages}
	if o.page > 0 {
		r.page, r.pages = o.page, o.pages
	}
	if r.at.Began = clock.Now(); cursor != "" {
		if err := json.Unmarshal([]byte(cursor), &r.at); err != nil || r.at.Stage < 0 || r.at.Stage > len(stages) || r.at.Group < 0 || r.at.Group > len(r.at.Groups) {
			return errors.New("how far the account was read can't be understood: begin again in another directory")
		}
	}
	return o.named(r.read(ctx))
}

// named describes what is wrong with a key.
func (o *Options) named(err error) error {
	no, ok := errors.AsType[*remote.Error](err)
	if !ok {
		return err
	}
	switch {
	case no.Name == "restricted_api_key" || no.Name == "invalid_permission":
		err = ErrSendingKey
	case no.Status == http.StatusUnauthorized || no.Status == http.StatusForbidden:
		err = fmt.Errorf("%w (%s)", ErrKey, no)
	default:
		return err
	}
	if o.KeyFile != "" {
		err = fmt.Errorf("%s: %w", o.KeyFile, err)
	}
	return archive.Refused(err)
}

// reader is a running read.
type reader struct {
	c        *remote.Client
	w        *archive.Writer
	progress Progress
	page     int
	pages    int
	at       state
}

// state is the cursor: the position, and the data needed to continue.
type state struct {
	Stage int       `json:"stage"`
	place           // in the current list
	Began time.Time `json:"began"`

	Properties map[string]bool             `json:"properties,omitzero"` // by key
	Topics     map[string]app.Subscription `json:"topics,omitzero"`     // their defaults
	Groups     []group                     `json:"groups,omitzero"`
	Group      int                         `json:"group,omitzero"` // index of the segment whose members are read
}

// place is the position in a list.
type place struct {
	Tail   []string `json:"tail,omitzero"`   // ids of the last items
	Pages  int      `json:"pages,omitzero"`  // number read
	Anchor string   `json:"anchor,omitzero"` // id of an earlier item, to detect a cycle
}

// group is a segment or an audience.
type group struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Audience string `json:"audience,omitzero"` // its id as an audience, if different
	Old      bool   `json:"old,omitzero"`      // only an audience
	ByQuery  bool   `json:"by_query,omitzero"` // members are listed by /contacts?segment_id=
}

// stages are the steps in order. Cursors refer to them by number, so their order is fixed.
var stages = []func(*reader, context.Context) error{
	(*reader).properties, (*reader).segments, (*reader).audiences, (*reader).topics,
	(*reader).templates, (*reader).broadcasts, (*reader).domains, (*reader).webhooks, (*reader).keys, (*reader).others,
	(*reader).contacts, (*reader).members, (*reader).unsubscribed, (*reader).suppressions,
}

func (r *reader) read(ctx context.Context) error {
	for r.at.Stage < len(stages) {
		if err := stages[r.at.Stage](r, ctx); err != nil {
			return err
		}
		r.at.Stage++
		if err := r.next(); err != nil {
			return err
		}
	}
	return nil
}

// next stores that a list was read completely.
func (r *reader) next() error {
	r.at.place = place{}
	return r.mark()
}

// mark stores the position.
func (r *reader) mark() error {
	text, err := json.Marshal(&r.at, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode the cursor: %w", err)
	}
	return r.w.Mark(string(text))
}

// progressAt reports the progress.
func (r *reader) progressAt(kind archive.Kind) {
	if r.progress != nil {
		r.progress(kind, r.w.Count(kind))
	}
}

// unmovable reports an object that can't be imported.
func (r *reader) unmovable(what, why string) error {
	return r.w.Put(archive.Unmovables, &archive.Unmovable{Item: what, Reason: why})
}
