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
	perSecond = 20          // requests; the server also sends mail
	skew      = time.Minute // maximum difference between the clocks of the server and its database
)

// Options name the listmonk and the user.
type Options struct {
	URL   string // may end with /api or /admin
	User  string
	Token string // of an API user, or the password in old versions

	Progress  func(what archive.Kind, left int) // called with the remaining pages; nil: not called
	Transport http.RoundTripper                 // nil: http.DefaultTransport
}

// Result is additional data for the archive's team.json.
type Result struct {
	Left int // soft bounces, which are not suppressed here
}

// ErrSignIn: neither way to sign in was accepted.
var ErrSignIn = errors.New("listmonk does not take this user and token: make an API user there (Admin, Users), or, before its version 4, use the name and password of its administrator")

// state is the cursor: the position and the data needed to continue.
type state struct {
	Phase int       `json:"phase"`
	Since time.Time `json:"since"`         // start of the read
	Page  int       `json:"page,omitzero"` // next page of this phase, counting down; 0: none read yet
	Size  int       `json:"size,omitzero"` // items of a page
	List  int64     `json:"list,omitzero"` // last list whose opt-outs were read

	Lists map[int64]knownList `json:"lists"`
	Names map[string]int64    `json:"names"`         // owner of each unique name, by kind and name
	Keys  map[string]bool     `json:"keys"`          // attributes; true: one value is a string
	Odd   map[string]int      `json:"odd"`           // counts of unmovable things: see reader.odd
	Left  int                 `json:"left,omitzero"` // soft bounces
}

// knownList is what is stored of a list for its members.
type knownList struct {
	Topic  bool `json:"topic,omitzero"` // otherwise a segment
	Double bool `json:"double,omitzero"`
}

// reader is a running read.
type reader struct {
	Options
	api    *remote.Client
	basic  bool
	w      *archive.Writer
	s      state
	frames map[int64]string // templates of campaigns; nil: not read yet
	frame  string           // default template of campaigns
}

// Read reads a listmonk into an archive. cursor is empty, or the result of archive.Resume to
// continue. The caller finishes the archive. Errors: ErrSignIn; those of remote.Client.Get.
func Read(ctx context.Context, o Options, w *archive.Writer, cursor string) (Result, error) {
	r := &reader{Options: o, w: w}
	r.s = state{Lists: map[int64]knownList{}, Names: map[string]int64{}, Keys: map[string]bool{}, Odd: map[string]int{}}
	if cursor != "" {
		if err := json.Unmarshal([]byte(cursor), &r.s); err != nil {
			return Result{}, fmt.Errorf("read the cursor of listmonk: %w", err)
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

// phases are the steps in order: opt-outs are read again after subscribers, and bounces last.
var phases = []func(*reader, context.Context) error{
	(*reader).readLists, (*reader).readSubscribers, (*reader).readChanged, (*reader).readOptOuts,
	(*reader).readBounces, (*reader).readTemplates, (*reader).readCampaigns, (*reader).conclude,
}

func (r *reader) mark() error {
	cursor, err := json.Marshal(&r.s, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("write the cursor of listmonk: %w", err)
	}
	return r.w.Mark(string(cursor))
}

// signIn determines how to authenticate: API users of version 4 and later have a token, earlier
// versions only accept Basic (RFC 7617).
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
	if denied(first) { // the token was accepted
		return explained(first)
	}
	if denied(err) {
		return explained(err)
	}
	return fmt.Errorf("%w: %w", ErrSignIn, err)
}

// now returns the server's time, which its timestamps use.
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

// denied reports whether the user is known but may not read something.
func denied(err error) bool {
	no, ok := errors.AsType[*remote.Error](err)
	return ok && strings.Contains(strings.ToLower(no.Message), "permission denied")
}

// explained adds the fix for a user without a permission.
func explained(err error) error {
	if denied(err) {
		err = fmt.Errorf("%w: the role of the API user must let it read all lists, subscribers, bounces, campaigns and templates", err)
	}
	if status := remote.StatusOf(err); status == http.StatusUnauthorized || status == http.StatusForbidden {
		return archive.Refused(err)
	}
	return err
}

// superAdmin is the id of the role with all permissions.
const superAdmin = 1

// narrowed reports what the role of the API user hides: listmonk then returns a part without
// saying so. Versions before 4 have no roles.
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
