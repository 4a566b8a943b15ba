package pages

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"mailer/app/sending/signup"
	"mailer/web/rest"
)

//go:embed forms.js
var formScriptSource string

// formScript submits a form of another site without leaving its page, and solves challenges. It has at
// most 6 KB.
var formScript = withoutIndents(formScriptSource)

// withoutIndents removes the indents, the empty lines and the lines of comments of a script.
func withoutIndents(source string) string {
	var b strings.Builder
	for line := range strings.Lines(source) {
		if line = strings.TrimLeft(line, " "); line != "\n" && !strings.HasPrefix(line, "//") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// formScriptTag is the ETag of formScript.
var formScriptTag = func() string {
	sum := sha256.Sum256([]byte(formScript))
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
}()

const (
	scriptSuffix = ".js"
	// scriptAge is how long browsers keep the script without asking, in seconds.
	scriptAge = "3600"
	// preflightAge is how long browsers keep the answer to a preflight, in seconds.
	preflightAge = "600"
	// buttonAfter is how long the button of a submission without a proof can't be pressed.
	buttonAfter = 5 * time.Second
)

// allowOrigin lets a script of another site read the answer if the form allows its origin. The script
// sends no credentials.
func allowOrigin(x *rest.Exchange, allowed []string) {
	x.Header().Add("Vary", "Origin")
	if origin := x.RequestHeader["Origin"]; len(origin) == 1 && slices.Contains(allowed, origin[0]) {
		x.Header().Set("Access-Control-Allow-Origin", origin[0])
	}
}

// preflight answers what a browser asks before a script of another site posts JSON.
func preflight(_ context.Context, x *rest.Exchange, _ *formInput, _ *signup.FormView, _ *pageText) (func(), error) {
	return func() {
		head := x.Header()
		head.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
		if head.Get("Access-Control-Allow-Origin") != "" {
			head.Set("Access-Control-Allow-Methods", "GET, POST")
			head.Set("Access-Control-Allow-Headers", "Content-Type")
			head.Set("Access-Control-Max-Age", preflightAge)
		}
		head.Set("Cache-Control", "no-store")
		head.Set("Content-Length", "0")
		x.WriteHeader(http.StatusOK)
	}, nil
}

// writeScript answers with the script, which is the same for all forms.
func writeScript(x *rest.Exchange) {
	head := x.Header()
	head.Set("Cache-Control", "public, max-age="+scriptAge)
	head.Set("ETag", formScriptTag)
	head.Set("Cross-Origin-Resource-Policy", "cross-origin")
	head.Set("X-Robots-Tag", "noindex, nofollow")
	if hasETag(x.RequestHeader.Values("If-None-Match")) {
		x.WriteHeader(http.StatusNotModified)
		return
	}
	head.Set("Content-Type", "text/javascript; charset=utf-8")
	// A worker has the policy of its own script.
	head.Set("Content-Security-Policy", "default-src 'none'")
	head.Set("Content-Length", strconv.Itoa(len(formScript)))
	x.WriteHeader(http.StatusOK)
	_, _ = x.Write([]byte(formScript)) // an error means that the connection is closed
}

// hasETag reports whether an If-None-Match header names the script. Proxies that compress make the tag
// weak.
func hasETag(values []string) bool {
	for tag := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == formScriptTag {
			return true
		}
	}
	return false
}

// FormChallenge is a task for a browser.
type FormChallenge struct {
	Object    string `json:"object" enum:"challenge"`
	Token     string `json:"token" doc:"The proof is the token, a dot and a decimal number, so that the SHA-256 of the proof begins with as many zero bits as bits says"`
	Bits      int    `json:"bits"`
	ExpiresIn int    `json:"expires_in" doc:"Seconds until the proof does not count any more"`
	Working   string `json:"working" doc:"What to tell the visitor meanwhile"`
}

func (s *signUps) challenge(ctx context.Context, x *rest.Exchange, in *formInput, _ *signup.FormView, t *pageText) (func(), error) {
	c, err := s.service.NewChallenge(ctx, x.Host, strings.ToLower(in.Form))
	if err != nil {
		return nil, err
	}
	answer := FormChallenge{"challenge", c.Token, c.Bits, int(c.Expires.Sub(s.h.Now()) / time.Second), t.signUp.working}
	return func() { writeJSON(x, http.StatusOK, answer) }, nil
}

// FormAnswer is the answer to a submission of JSON.
type FormAnswer struct {
	Object string      `json:"object" enum:"form_answer"`
	Status string      `json:"status" enum:"received,button" doc:"button: the visitor must press a button, and the same is submitted again with its token as form-button"`
	Title  string      `json:"title" doc:"What to tell the visitor"`
	Text   []string    `json:"text"`
	Button *FormButton `json:"button,omitempty"`
}

// FormButton is a button that a visitor must press.
type FormButton struct {
	Token        string `json:"token"`
	Label        string `json:"label"`
	AfterSeconds int    `json:"after_seconds" doc:"How long the button can't be pressed"`
}

func newFormAnswer(done *signup.Submitted, t *pageText) FormAnswer {
	if done.Button != "" {
		return FormAnswer{"form_answer", "button", t.signUp.oneMore, []string{t.signUp.oneMoreMore},
			&FormButton{done.Button, t.signUp.finish, int(buttonAfter / time.Second)}}
	}
	title, lines := submittedText(t.signUp, done.Single)
	return FormAnswer{"form_answer", "received", title, lines, nil}
}

// FormError refuses a submission of JSON in the visitor's language.
type FormError struct {
	StatusCode int              `json:"statusCode"`
	Name       string           `json:"name"`
	Message    string           `json:"message"`
	Errors     []FormInputError `json:"errors" doc:"Which inputs are refused; texts in the visitor's language"`
}

// FormInputError refuses what was typed into an input.
type FormInputError struct {
	Field   string `json:"field" doc:"The name of the input"`
	Message string `json:"message"`
}

func newFormError(faults map[string]string, t *pageText) FormError {
	e := FormError{http.StatusUnprocessableEntity, "validation_error", t.signUp.check, nil}
	for _, name := range sortedNames(faults) {
		e.Errors = append(e.Errors, FormInputError{name, faults[name]})
	}
	return e
}

// refuseSubmission answers with an error: a page, or JSON for a script.
func (s *signUps) refuseSubmission(x *rest.Exchange, e *rest.Error) {
	if !isJSON(x.RequestHeader) && !strings.HasSuffix(x.Pattern, "/challenge") {
		s.refuse(x, e)
		return
	}
	writeJSON(x, e.StatusCode, e)
}

// writeJSON answers a script.
func writeJSON(x *rest.Exchange, status int, v any) {
	head := x.Header()
	head.Set("Content-Type", "application/json")
	setPrivate(head)
	if status == http.StatusServiceUnavailable && head.Get("Retry-After") == "" {
		head.Set("Retry-After", pageRetryAfter)
	}
	x.WriteHeader(status)
	_ = rest.Marshal(x, v) // an error means that the connection is closed
}
