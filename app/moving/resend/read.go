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

// BaseURL is where Resend's API is.
const BaseURL = "https://api.resend.com"

const (
	rate     = 10      // requests a second, which is what an account may send
	pageSize = 100     // items a page, the most that there may be
	maxPages = 200_000 // of one list
)

// Options say which account is read.
type Options struct {
	APIKey    string            // with full access
	KeyFile   string            // where the key is from, for errors; may be empty
	BaseURL   string            // empty: BaseURL
	Transport http.RoundTripper // nil: over the network

	page, pages int // 0: pageSize, maxPages
}

// Progress is told after each page how many items of a kind there are by now.
type Progress func(kind archive.Kind, items int)

// Errors of an API key.
var (
	ErrKey        = errors.New("the API key was refused by Resend")
	ErrSendingKey = errors.New("the API key may only send: make one with full access in Resend's dashboard, and remove it afterwards")
)

// Read reads an account into an archive, from the start or, where cursor is what
// archive.Resume returned, from there on. It does not finish the archive. Errors:
// ErrKey; ErrSendingKey; those of remote.Client and archive.Writer.
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

// named says in words what is wrong with a key.
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

// reader is a reading that goes on.
type reader struct {
	c        *remote.Client
	w        *archive.Writer
	progress Progress
	page     int
	pages    int
	at       state
}

// state is the cursor: how far it is, and what of the account is needed to go on.
type state struct {
	Stage int       `json:"stage"`
	place           // in its list
	Began time.Time `json:"began"`

	Properties map[string]bool             `json:"properties,omitzero"` // their keys
	Topics     map[string]app.Subscription `json:"topics,omitzero"`     // their defaults
	Groups     []group                     `json:"groups,omitzero"`
	Group      int                         `json:"group,omitzero"` // whose members are read
}

// place is how far a list was read.
type place struct {
	Tail   []string `json:"tail,omitzero"`   // ids of the last items
	Pages  int      `json:"pages,omitzero"`  // how many
	Anchor string   `json:"anchor,omitzero"` // id of an earlier item: one that comes again has no end
}

// group is a segment, or what there was before segments.
type group struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Audience string `json:"audience,omitzero"` // its id as an audience, where it has another
	Old      bool   `json:"old,omitzero"`      // an audience alone
	ByQuery  bool   `json:"by_query,omitzero"` // its members are listed by /contacts?segment_id=
}

// stages are what is read, in that order. Cursors name them by number: none may move.
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

// next notes that a list was read whole.
func (r *reader) next() error {
	r.at.place = place{}
	return r.mark()
}

// mark notes how far it is.
func (r *reader) mark() error {
	text, err := json.Marshal(&r.at, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode the cursor: %w", err)
	}
	return r.w.Mark(string(text))
}

// progressAt says how far it is.
func (r *reader) progressAt(kind archive.Kind) {
	if r.progress != nil {
		r.progress(kind, r.w.Count(kind))
	}
}

// unmovable notes what can't move.
func (r *reader) unmovable(what, why string) error {
	return r.w.Put(archive.Unmovables, &archive.Unmovable{Item: what, Reason: why})
}
