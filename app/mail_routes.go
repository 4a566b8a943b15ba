package app

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mailer/app/kit/mailbox"
)

// Limits of routes for received mail.
const (
	MaxMailRoutes   = 100 // of a team
	MaxRouteActions = 10  // of a route
	MaxRouteTag     = 64  // bytes of a sub-address tag
	// MaxForwardAddresses is how many addresses a team may ask to receive forwarded mail, those that are in no route any
	// more included.
	MaxForwardAddresses = 200
	// PausingRefusals is how many refusals in a row pause a destination.
	PausingRefusals = 5
	// MaxAnswersPerDay is how many answers one route sends in 24 hours, and AnswerAgainAfter how long an address gets no
	// other answer of a route.
	MaxAnswersPerDay = 100
	AnswerAgainAfter = 7 * 24 * time.Hour
)

// RouteActionType is what a route does with received mail.
type RouteActionType string

// The actions.
const (
	RouteWebhook RouteActionType = "webhook"    // store and announce
	RouteForward RouteActionType = "forward"    // send a new email with the content to an address
	RouteDrop    RouteActionType = "drop"       // accept, and neither store nor announce
	RouteReply   RouteActionType = "reply_with" // answer with a template
)

// RouteAction is one action of a route.
type RouteAction struct {
	Type       RouteActionType `json:"type"`
	To         string          `json:"to,omitzero"`          // of RouteForward: in lower case with A-labels
	TemplateID string          `json:"template_id,omitzero"` // of RouteReply
}

// MailRoute is a rule for received mail. The routes of a team are tried in order for each recipient of the team; the
// first that matches decides.
type MailRoute struct {
	ID        string
	TeamID    string
	Position  int    // from 1
	Match     string // ann@example.com, *@example.com or +tag, in lower case with A-labels
	Actions   []RouteAction
	CreatedAt time.Time
	// Destinations are those of the actions, in their order.
	Destinations []ForwardAddress
}

// ForwardAddress is an address to which a team forwards received mail.
type ForwardAddress struct {
	ID         string
	TeamID     string
	Address    string    // in lower case with A-labels
	AskedAt    time.Time // when its owner was last asked
	AgreedAt   time.Time // zero: not yet
	StoppedAt  time.Time // by its owner; zero: not
	Refusals   int       // in a row
	AcceptedAt time.Time // when a server accepted a mail to it, since the last refusal; zero: none
	CreatedAt  time.Time
}

// ForwardStatus says whether mail is forwarded to an address.
type ForwardStatus string

// The statuses.
const (
	ForwardWaiting ForwardStatus = "waiting" // its owner has not agreed
	ForwardAgreed  ForwardStatus = "agreed"
	ForwardStopped ForwardStatus = "stopped" // by its owner
	ForwardPaused  ForwardStatus = "paused"  // too many refusals
)

// Status returns whether mail is forwarded to the address.
func (a *ForwardAddress) Status() ForwardStatus {
	switch {
	case !a.StoppedAt.IsZero():
		return ForwardStopped
	case a.AgreedAt.IsZero():
		return ForwardWaiting
	case a.Refusals >= PausingRefusals:
		return ForwardPaused
	}
	return ForwardAgreed
}

// refusalsForgottenAfter is how long after an accepted mail its refusal may be reported. A relay accepts mail before
// the server of the address does.
const refusalsForgottenAfter = time.Hour

// Note returns the address after the result of a forwarded mail: delivered by the report of a provider, accepted by a
// relay, or refused.
func (a ForwardAddress) Note(result LastEvent, at time.Time) ForwardAddress {
	switch result {
	case Delivered:
		a.Refusals, a.AcceptedAt = 0, at
	case Sent:
		if !a.AcceptedAt.IsZero() && at.Sub(a.AcceptedAt) >= refusalsForgottenAfter {
			a.Refusals, a.AcceptedAt = 0, at
		} else if a.AcceptedAt.IsZero() {
			a.AcceptedAt = at
		}
	case Bounced, Complained, Failed:
		a.Refusals++
		a.AcceptedAt = time.Time{}
	}
	return a
}

// RouteEffect is what a route did with a received email.
type RouteEffect struct {
	Type          RouteActionType `json:"type"`                    // RouteForward or RouteReply
	RouteID       string          `json:"route_id"`                // the route may be gone
	DestinationID string          `json:"destination_id,omitzero"` // of RouteForward
	To            string          `json:"-"`                       // its address; empty: deleted
	Status        EffectStatus    `json:"status"`
	EmailID       string          `json:"email_id,omitzero"` // the new email, once it is accepted
	Reason        string          `json:"reason,omitzero"`   // why nothing was sent, as a sentence without its period
}

// EffectStatus is how far an action of a route is.
type EffectStatus string

// The statuses.
const (
	EffectWaiting  EffectStatus = "waiting"  // the new email is being made
	EffectAccepted EffectStatus = "accepted" // there is an email
	EffectSkipped  EffectStatus = "skipped"  // nothing is sent
)

// MailRouteInput is a route to create.
type MailRouteInput struct {
	Match    string
	Actions  []RouteAction
	Position int // 0: the last
}

// MailRoutePatch changes a route. Zero values mean absent.
type MailRoutePatch MailRouteInput

// Validate checks the input and returns the route without id, team, position and time. The caller checks the position
// and the templates. Errors: CodeValidation.
func (in *MailRouteInput) Validate() (r MailRoute, err error) {
	if in.Match == "" {
		return r, Invalid("match", "is required")
	}
	if in.Actions == nil {
		return r, Invalid("actions", "is required")
	}
	return (*MailRoutePatch)(in).Apply(r)
}

// Apply returns the route with the patch applied. It leaves the position. Errors: CodeValidation.
func (p *MailRoutePatch) Apply(r MailRoute) (MailRoute, error) {
	var err error
	if p.Match != "" {
		if r.Match, err = parseRouteMatch(p.Match); err != nil {
			return r, err
		}
	}
	if p.Actions != nil {
		if r.Actions, err = checkRouteActions(p.Actions); err != nil {
			return r, err
		}
	}
	if i := slices.IndexFunc(r.Actions, func(a RouteAction) bool { return a.To != "" && a.To == r.Match }); i >= 0 {
		return r, Invalid(fmt.Sprintf("actions[%d].to", i), "is the address whose mail it would forward")
	}
	return r, nil
}

// parseRouteMatch returns what a route matches in its canonical spelling.
func parseRouteMatch(text string) (string, error) {
	text = strings.TrimSpace(text)
	if tag, ok := strings.CutPrefix(text, "+"); ok && !strings.Contains(tag, "@") {
		tag = mailbox.FoldLocal(tag)
		switch {
		case tag == "" || len(tag) > MaxRouteTag:
			return "", Invalid("match", "must name a tag of 1 to %d characters after the +", MaxRouteTag)
		case strings.ContainsFunc(tag, func(r rune) bool { return r != '.' && !mailbox.IsAtext(r) }):
			return "", Invalid("match", "names a tag with a character that no address has")
		}
		return "+" + tag, nil
	}
	if domain, ok := strings.CutPrefix(text, "*@"); ok {
		name, err := mailbox.ParseDomain(domain)
		if err != nil {
			return "", Invalid("match", "%v", err)
		}
		return "*@" + name, nil
	}
	_, key, err := ParseBareAddress(text)
	if err != nil {
		return "", Invalid("match", "must be an address like support@example.com, a domain like *@example.com, or a tag like +news")
	}
	return key.String(), nil
}

// checkRouteActions returns the actions of a route in canonical spelling.
func checkRouteActions(in []RouteAction) ([]RouteAction, error) {
	if len(in) == 0 || len(in) > MaxRouteActions {
		return nil, Invalid("actions", "must hold 1 to %d actions", MaxRouteActions)
	}
	out := slices.Clone(in)
	seen := map[RouteAction]bool{}
	for i := range out {
		a, field := &out[i], fmt.Sprintf("actions[%d]", i)
		switch {
		case a.To != "" && a.Type != RouteForward:
			return nil, Invalid(field+".to", "belongs to the action forward")
		case a.TemplateID != "" && a.Type != RouteReply:
			return nil, Invalid(field+".template_id", "belongs to the action reply_with")
		}
		switch a.Type {
		case RouteWebhook:
		case RouteDrop:
			if len(in) > 1 {
				return nil, Invalid(field+".type", "drop must be the only action")
			}
		case RouteForward:
			_, key, err := ParseBareAddress(a.To)
			if err != nil {
				return nil, Invalid(field+".to", "%v", err)
			}
			a.To = key.String()
		case RouteReply:
			id, ok := ParseID(a.TemplateID)
			if !ok {
				return nil, Invalid(field+".template_id", "must be the id of a template")
			}
			a.TemplateID = id
		default:
			return nil, Invalid(field+".type", "must be webhook, forward, drop or reply_with")
		}
		if seen[*a] || a.Type == RouteReply && slices.ContainsFunc(out[:i], func(b RouteAction) bool { return b.Type == RouteReply }) {
			return nil, Invalid(field, "is there twice")
		}
		seen[*a] = true
	}
	return out, nil
}

// Matches reports whether the route is for a recipient.
func (r *MailRoute) Matches(recipient AddressKey) bool {
	text := recipient.String()
	if text == r.Match {
		return true
	}
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return false
	}
	if domain, ok := strings.CutPrefix(r.Match, "*@"); ok {
		return text[at+1:] == domain
	}
	if strings.HasPrefix(r.Match, "+") && !strings.Contains(r.Match, "@") {
		_, tag, found := strings.Cut(text[:at], "+")
		return found && "+"+tag == r.Match
	}
	return false
}

// RouteFor returns the first route that matches a recipient; nil: none.
func RouteFor(routes []MailRoute, recipient AddressKey) *MailRoute {
	for i := range routes {
		if routes[i].Matches(recipient) {
			return &routes[i]
		}
	}
	return nil
}

// Uses reports whether an action answers with a template.
func (r *MailRoute) Uses(templateID string) bool {
	return slices.ContainsFunc(r.Actions, func(a RouteAction) bool { return a.TemplateID == templateID && templateID != "" })
}

// Does reports whether the route has an action of a type.
func (r *MailRoute) Does(t RouteActionType) bool {
	return slices.ContainsFunc(r.Actions, func(a RouteAction) bool { return a.Type == t })
}
