package listmonk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/net/remote"
	"mailer/app/rules/archive"
)

const (
	perSecond = 20          // requests; it is somebody's own machine, which also sends
	skew      = time.Minute // by which the clocks of the server and its database may differ
)

// Options say which listmonk is read, and as whom.
type Options struct {
	URL   string // also with /api or /admin at its end
	User  string
	Token string // of an API user, or the password of old versions

	Progress  func(what archive.Kind, left int) // is told the pages that are left; nil: nobody
	Transport http.RoundTripper                 // nil: the network
}

// Result is what an archive's team.json says besides.
type Result struct {
	Left int // soft bounces, which suppress nobody here
}

// ErrSignIn: neither way to sign in was taken.
var ErrSignIn = errors.New("listmonk does not take this user and token: make an API user there (Admin, Users), or, before its version 4, use the name and password of its administrator")

// state is the cursor: how far the reading is, and what it has to remember.
type state struct {
	Phase int       `json:"phase"`
	Since time.Time `json:"since"`         // when the reading began
	Page  int       `json:"page,omitzero"` // the next of this phase, downwards; 0: none was read yet
	Size  int       `json:"size,omitzero"` // items of a page
	List  int64     `json:"list,omitzero"` // the last whose opt-outs were read

	Lists map[int64]knownList `json:"lists"`
	Names map[string]int64    `json:"names"`         // who has a name that must be unique, by kind and name
	Keys  map[string]bool     `json:"keys"`          // attributes; true: one of them is a text
	Odd   map[string]int      `json:"odd"`           // counted for what can't move: see reader.odd
	Left  int                 `json:"left,omitzero"` // soft bounces
}

// knownList is what the members of a list have to know of it.
type knownList struct {
	Topic  bool `json:"topic,omitzero"` // else a segment
	Double bool `json:"double,omitzero"`
}

// reader is one reading.
type reader struct {
	Options
	api    *remote.Client
	basic  bool
	w      *archive.Writer
	s      state
	frames map[int64]string // templates of campaigns; nil: not read yet
	frame  string           // of campaigns without a template of their own
}

// Read reads a whole listmonk into an archive. Where cursor is what archive.Resume
// returned, it goes on there. The caller finishes the archive. Errors: ErrSignIn; those of
// remote.Client.Get.
func Read(ctx context.Context, o Options, w *archive.Writer, cursor string) (Result, error) {
	r := &reader{Options: o, w: w}
	r.s = state{Lists: map[int64]knownList{}, Names: map[string]int64{}, Keys: map[string]bool{}, Odd: map[string]int{}}
	if cursor != "" {
		if err := json.Unmarshal([]byte(cursor), &r.s); err != nil {
			return Result{}, fmt.Errorf("read how far listmonk was read: %w", err)
		}
	}
	if r.s.Phase < len(phases) {
		if err := r.signIn(ctx); err != nil {
			return Result{}, err
		}
		defer r.api.Close()
		if r.s.Since.IsZero() {
			r.s.Since = r.now().Add(-skew).UTC()
		}
	}
	for r.s.Phase < len(phases) {
		if err := phases[r.s.Phase](r, ctx); err != nil {
			return Result{}, explained(err)
		}
		r.s.Phase++
		r.s.Page = 0
		if err := r.mark(); err != nil {
			return Result{}, err
		}
	}
	return Result{r.s.Left}, nil
}

// phases are what is read, in this order: what people said is asked for again after
// them, and bounces as late as can be.
var phases = []func(*reader, context.Context) error{
	(*reader).readLists, (*reader).readSubscribers, (*reader).readChanged, (*reader).readOptOuts,
	(*reader).readBounces, (*reader).readTemplates, (*reader).readCampaigns, (*reader).conclude,
}

func (r *reader) mark() error {
	cursor, err := json.Marshal(&r.s, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("note how far listmonk was read: %w", err)
	}
	return r.w.Mark(string(cursor))
}

// signIn finds out how the server wants to be signed in to: API users of version 4 and
// later have a token, earlier versions take Basic alone (RFC 7617).
func (r *reader) signIn(ctx context.Context) (err error) {
	r.User, r.Token = strings.TrimSpace(r.User), strings.TrimSpace(r.Token)
	switch {
	case r.User == "" || r.Token == "":
		return errors.New("sign in to listmonk: a user and a token are needed")
	case strings.ContainsAny(r.User+r.Token, "\r\n") || strings.Contains(r.User, ":"):
		return errors.New("sign in to listmonk: user and token are one line each, and the user has no colon")
	}
	base := strings.TrimRight(strings.TrimSpace(r.URL), "/")
	for _, end := range []string{"/api", "/admin"} {
		base = strings.TrimSuffix(base, end)
	}
	if r.api, err = remote.New(base, r.authorize, perSecond); err != nil {
		return err
	}
	if r.Transport != nil {
		r.api.WithTransport(r.Transport)
	}
	var first error
	for _, r.basic = range []bool{false, true} {
		var p page
		if err = r.api.Get(ctx, "/api/lists", pageQuery(1, 1), &p); err == nil {
			return p.check()
		}
		if !slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusBadRequest}, remote.StatusOf(err)) {
			return err
		}
		if first == nil {
			first = err
		}
	}
	if denied(first) { // the token was taken
		return explained(first)
	}
	if denied(err) {
		return explained(err)
	}
	return fmt.Errorf("%w: %w", ErrSignIn, err)
}

// now is the server's time, by which it says when something changed.
func (r *reader) now() time.Time {
	if at := r.api.Date(); !at.IsZero() {
		return at
	}
	return clock.Now()
}

func (r *reader) authorize(req *http.Request) {
	if r.basic {
		req.SetBasicAuth(r.User, r.Token)
		return
	}
	req.Header.Set("Authorization", "token "+r.User+":"+r.Token)
}

// denied reports whether the user is known and may not read this.
func denied(err error) bool {
	no, ok := errors.AsType[*remote.Error](err)
	return ok && strings.Contains(strings.ToLower(no.Message), "permission denied")
}

// explained adds what to do about a user who may not read something.
func explained(err error) error {
	if denied(err) {
		err = fmt.Errorf("%w: the role of the API user must let it read all lists, subscribers, bounces, campaigns and templates", err)
	}
	if status := remote.StatusOf(err); status == http.StatusUnauthorized || status == http.StatusForbidden {
		return archive.Refused(err)
	}
	return err
}

// superAdmin is the id of the role that may do everything.
const superAdmin = 1

// narrowed names what the role of the API user hides: listmonk then answers with a part,
// and does not say so. Versions before 4 have no roles.
func (r *reader) narrowed(ctx context.Context) error {
	var answer struct {
		Data struct {
			Role struct {
				ID          int64    `json:"id"`
				Name        string   `json:"name"`
				Permissions []string `json:"permissions"`
			} `json:"user_role"`
		} `json:"data"`
	}
	err := r.api.Get(ctx, "/api/profile", nil, &answer)
	role := answer.Data.Role
	switch {
	case ctx.Err() != nil, errors.Is(err, remote.ErrUnreachable):
		return err
	case err != nil, role.ID == 0, role.ID == superAdmin:
		return nil
	}
	for _, all := range []struct{ permission, hides string }{{"lists:get_all", "other lists"}, {"subscribers:get_all", "subscribers who are on none of its lists"}} {
		if !slices.Contains(role.Permissions, all.permission) {
			err := r.unmovable(fmt.Sprintf("what the role %q of the API user hides", app.Excerpt(role.Name)),
				fmt.Sprintf("it lacks the permission %s, so that %s stay behind: give it that, and import once more", all.permission, all.hides))
			if err != nil {
				return err
			}
		}
	}
	return nil
}
