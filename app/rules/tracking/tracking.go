// Package tracking rewrites the links of a mail and adds the pixel, makes and reads the tokens in
// their URLs, and classifies requests as made by readers or programs. It does no I/O; its only
// state is in Pending, which callers own.
//
// Failure policy: rewriting never fails: a link that can't be tracked is unchanged. Any text that
// is not a valid token is refused.
package tracking

import (
	"bytes"
	"encoding/binary"
	"html"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"mailer/app"
	"mailer/app/kit/htmltext"
	"mailer/app/rules/rawmail"
)

// ForDomain returns the tracking of the domain's mail by a server at base (without a final slash);
// nil: disabled. Links use the domain's tracking host once a check found its record, with scheme,
// port and path of base.
func ForDomain(d *app.Domain, base string) *app.Tracking {
	if base == "" || !d.OpenTracking && !d.ClickTracking {
		return nil
	}
	t := &app.Tracking{Base: base, Open: d.OpenTracking, Click: d.ClickTracking}
	name := d.TrackingName()
	u, err := url.Parse(base)
	if !HostIsLive(d) || err != nil || u.Hostname() == name {
		return t
	}
	u.Host = name + strings.TrimPrefix(u.Host, bracketed(u))
	t.Base, t.Pages = strings.TrimRight(u.String(), "/"), base
	return t
}

// HostIsLive reports whether the last check found the record of the domain's tracking host.
func HostIsLive(d *app.Domain) bool {
	name := d.TrackingName()
	return name != "" && slices.ContainsFunc(d.Checks, func(c app.RecordCheck) bool {
		return c.Record == app.RecordTracking && c.Name == name && c.Live == app.LiveFound
	})
}

// bracketed returns the host of a URL without its port, with brackets around an IPv6 address.
func bracketed(u *url.URL) string {
	if port := u.Port(); port != "" {
		return strings.TrimSuffix(u.Host, ":"+port)
	}
	return u.Host
}

// Track returns the mail with tracked links and the pixel, or the mail itself if tracking is
// disabled or a raw message can't be changed (FitsRaw). It does not modify m and is deterministic.
func Track(s *app.Sealer, m *app.Mail, teamID, emailID string, t *app.Tracking) *app.Mail {
	if t == nil || m.HTML == "" {
		return m
	}
	out := *m
	if m.Raw == nil {
		out.HTML = rewrite(s, m.HTML, m.Headers, teamID, emailID, t)
		return &out
	}
	c, ok := changeRaw(s, m, teamID, emailID, t)
	if !ok {
		return m
	}
	out.Raw = c.In(m.Raw)
	return &out
}

// FitsRaw reports whether Track changes a raw message.
func FitsRaw(s *app.Sealer, m *app.Mail, teamID, emailID string, t *app.Tracking) bool {
	_, ok := changeRaw(s, m, teamID, emailID, t)
	return ok
}

func changeRaw(s *app.Sealer, m *app.Mail, teamID, emailID string, t *app.Tracking) (rawmail.Change, bool) {
	return rawmail.ChangeHTML(m.Raw, func(html string) string { return rewrite(s, html, m.Headers, teamID, emailID, t) })
}

// rewrite rewrites the links of HTML and adds the pixel.
func rewrite(s *app.Sealer, html string, headers []app.Header, teamID, emailID string, t *app.Tracking) string {
	scanned := Scan(html)
	wrap := func(target string) string { return target }
	if t.Click {
		wrap = clickLinks(s, &scanned, ClickLink{TeamID: teamID, EmailID: emailID, Host: BaseHost(t)}, t, UnsubscribeTargets(headers))
	}
	pixel := ""
	if t.Open {
		before, after := Pixel(t)
		pixel = before + OpenToken(s, emailID) + after
	}
	return scanned.Rewrite(html, wrap, pixel)
}

// Pixel returns the HTML of the pixel before and after the token.
func Pixel(t *app.Tracking) (before, after string) {
	return `<img src="` + html.EscapeString(t.Base+OpenPath), `" width="1" height="1" alt="" style="border:0;width:1px;height:1px">`
}

// clickLinks numbers the distinct tracked targets and returns the function that rewrites them: of
// with the number and target of each.
func clickLinks(s *app.Sealer, p *Positions, of ClickLink, t *app.Tracking, except map[string]bool) func(string) string {
	numbers := map[string]int{}
	for _, link := range p.Links {
		if _, known := numbers[link.Target]; !known && !IsPage(t, link.Target) && !except[link.Target] {
			numbers[link.Target] = len(numbers)
		}
	}
	links := make(map[string]string, len(numbers))
	return func(target string) string {
		n, tracked := numbers[target]
		if !tracked {
			return target
		}
		link, known := links[target]
		if !known {
			of.Link, of.Links, of.Target = n, len(numbers), target
			link = t.Base + ClickPath + ClickToken(s, of)
			links[target] = link
		}
		return link
	}
}

// IsPage reports whether a target is a hosted page of this server.
func IsPage(t *app.Tracking, target string) bool {
	return below(t, target, "/view/") || IsOptOutPage(t, target)
}

// IsOptOutPage reports whether a target is a hosted page for unsubscribing or preferences.
func IsOptOutPage(t *app.Tracking, target string) bool {
	return below(t, target, "/unsubscribe/") || below(t, target, "/preferences/")
}

// below reports whether a target is below a path of a base URL of this server.
func below(t *app.Tracking, target, path string) bool {
	for _, base := range []string{t.Base, t.Pages} {
		if base == "" || len(target) < len(base) || !strings.EqualFold(target[:len(base)], base) {
			continue
		}
		if strings.HasPrefix(target[len(base):], path) {
			return true
		}
	}
	return false
}

// UnsubscribeTargets returns the set of URLs in a List-Unsubscribe header (RFC 2369 3.2).
func UnsubscribeTargets(headers []app.Header) map[string]bool {
	var out map[string]bool
	for _, h := range headers {
		if !strings.EqualFold(h.Name, app.ListUnsubscribe) {
			continue
		}
		for _, part := range strings.Split(h.Value, "<")[1:] {
			target, _, _ := strings.Cut(part, ">")
			if out == nil {
				out = map[string]bool{}
			}
			out[htmltext.NormalizeLink(strings.TrimSpace(target))] = true
		}
	}
	return out
}

// The purposes of tracking tokens.
const (
	openPurpose  = "open token"
	clickPurpose = "click token"
)

// Paths of tokens below the base URL.
const (
	OpenPath  = "/t/o/"
	ClickPath = "/t/c/"
)

// Sizes of token messages in bytes: version and email; for a click also team, host and numbers.
const (
	openVersion    = 1
	openTokenSize  = 1 + 16
	clickVersion   = 2
	clickTokenSize = 1 + 16 + 16 + hostMarkSize + 2 + 2 // without the target
	hostMarkSize   = 6
)

// ClickLink is the content of a click token.
type ClickLink struct {
	TeamID  string
	EmailID string
	Host    string // host for which the token is valid, in the form of HostOf
	Link    int    // number among the distinct targets of the email, or of all languages of its broadcast, from 0
	Links   int    // number of distinct targets of the email
	Target  string // Trackable
}

// Destination is the destination of a tracked link.
type Destination struct {
	Target   string
	Location string // for a Location header
	// Orphaned: the team or domain of the link was deleted. The target is shown, without a
	// redirect.
	Orphaned bool
}

// OpenToken returns the token of an email's pixel: 44 characters of base64url.
func OpenToken(s *app.Sealer, emailID string) string {
	return s.SealToken(openPurpose, appendID([]byte{openVersion}, emailID))
}

// ClickToken returns the token of a tracked link: at most 2,746 characters of base64url. It is
// valid on its own host only: otherwise any sender could make URLs on the hosts of others that
// redirect anywhere.
func ClickToken(s *app.Sealer, l ClickLink) string {
	b := append(make([]byte, 0, clickTokenSize+len(l.Target)+app.MacSize), clickVersion)
	b = appendID(appendID(b, l.TeamID), l.EmailID)
	b = append(b, hostMark(s, l.Host)...)
	links := uint16(l.Links) // at most MaxLinks
	if l.Link >= l.Links {   // of several languages; other versions want the second number to be the larger one
		links |= severalLanguages
	}
	b = binary.BigEndian.AppendUint16(b, uint16(l.Link)) // less than severalLanguages
	b = binary.BigEndian.AppendUint16(b, links)
	return s.SealToken(clickPurpose, append(b, l.Target...))
}

// severalLanguages is added to the number of links in a token whose link has a number among those of
// all languages.
const severalLanguages = 1 << 15

// hostMark returns the hash of a host for a token. It is keyed, so that nobody can search for a
// host with the same hash, and independent of the master key.
func hostMark(s *app.Sealer, host string) []byte {
	return s.Hash("click host", []byte(host))[:hostMarkSize]
}

// ReadOpenToken returns the email of an OpenToken; ok is false for any other text.
func ReadOpenToken(s *app.Sealer, token string) (emailID string, ok bool) {
	b, ok := s.OpenToken(openPurpose, token, openTokenSize, openTokenSize)
	if !ok || b[0] != openVersion {
		return "", false
	}
	return uuid.UUID(b[1:17]).String(), true
}

// ReadClickToken returns the link of a ClickToken for the requested host (in the form of HostOf);
// ok is false for any other text. If a proxy hides the requested host, the token is valid for any.
func ReadClickToken(s *app.Sealer, token, host string) (l ClickLink, ok bool) {
	b, ok := s.OpenToken(clickPurpose, token, clickTokenSize, clickTokenSize+MaxTarget)
	if !ok || b[0] != clickVersion {
		return l, false
	}
	const mark = 1 + 16 + 16
	numbers := b[mark+hostMarkSize:]
	l = ClickLink{
		TeamID: uuid.UUID(b[1:17]).String(), EmailID: uuid.UUID(b[17:33]).String(), Host: host,
		Link: int(binary.BigEndian.Uint16(numbers)), Links: int(binary.BigEndian.Uint16(numbers[2:])),
		Target: string(b[clickTokenSize:]),
	}
	here := isUnnamedHost(host) || bytes.Equal(b[mark:mark+hostMarkSize], hostMark(s, host))
	valid := l.Link < l.Links
	l.Links &^= severalLanguages
	return l, here && valid && l.Links > 0 && Trackable(l.Target)
}

// HostOf returns the host of a Host header or URL in lower case without the port, as tokens
// contain it.
func HostOf(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// BaseHost returns the host of tracked links.
func BaseHost(t *app.Tracking) string {
	u, err := url.Parse(t.Base)
	if err != nil {
		return ""
	}
	return HostOf(u.Host)
}

// isUnnamedHost reports whether a host can't be a public one: a proxy that does not pass the
// header on sends its internal address of this server.
func isUnnamedHost(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast()
	}
	return !strings.Contains(host, ".")
}

// appendID appends an id as 16 bytes.
func appendID(b []byte, id string) []byte {
	raw := uuid.MustParse(id)
	return append(b, raw[:]...)
}
