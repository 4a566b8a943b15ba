// Package tracking leads links of a mail through this server and adds the pixel, makes
// and reads the tokens that stand in their addresses, and judges the requests that
// come back: whether a person opened or clicked, or a program did. Packages from
// insights on upward may import it, and render beside it; it does no I/O and keeps no
// state but in a Pending, which its owner holds.
//
// Failure policy: rewriting never fails: a link that can't be tracked stays as it is.
// A token that was not made here is no token, whatever is wrong with it.
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

// ForDomain is how mail of the domain is tracked by a server at base, which has
// no slash at its end; nil: not at all. Links lead to the domain's tracking host
// once a check found its record, with scheme, port and path of base.
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

// HostIsLive reports whether the last check of a domain found the record of its tracking host.
func HostIsLive(d *app.Domain) bool {
	name := d.TrackingName()
	return name != "" && slices.ContainsFunc(d.Checks, func(c app.RecordCheck) bool {
		return c.Record == app.RecordTracking && c.Name == name && c.Live == app.LiveFound
	})
}

// bracketed is the host of a URL as it stands there, without its port.
func bracketed(u *url.URL) string {
	if port := u.Port(); port != "" {
		return strings.TrimSuffix(u.Host, ":"+port)
	}
	return u.Host
}

// Track is the mail of a team's email with its links led through this server and the
// pixel in its html; the mail itself where neither is wanted, or it was handed in whole and
// FitsRaw denies it. What it was given does not change, and the same input always makes
// the same.
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

// FitsRaw reports whether Track makes another mail of one that was handed in whole.
func FitsRaw(s *app.Sealer, m *app.Mail, teamID, emailID string, t *app.Tracking) bool {
	_, ok := changeRaw(s, m, teamID, emailID, t)
	return ok
}

func changeRaw(s *app.Sealer, m *app.Mail, teamID, emailID string, t *app.Tracking) (rawmail.Change, bool) {
	return rawmail.ChangeHTML(m.Raw, func(html string) string { return rewrite(s, html, m.Headers, teamID, emailID, t) })
}

// rewrite leads the links of an HTML text through this server and puts in the pixel.
func rewrite(s *app.Sealer, html string, headers []app.Header, teamID, emailID string, t *app.Tracking) string {
	places := Scan(html)
	wrap := func(target string) string { return target }
	if t.Click {
		wrap = clickLinks(s, &places, ClickLink{TeamID: teamID, EmailID: emailID, Host: BaseHost(t)}, t, UnsubscribeTargets(headers))
	}
	pixel := ""
	if t.Open {
		before, after := Pixel(t)
		pixel = before + OpenToken(s, emailID) + after
	}
	return places.Rewrite(html, wrap, pixel)
}

// Pixel is what stands around the token of an email in its pixel.
func Pixel(t *app.Tracking) (before, after string) {
	return `<img src="` + html.EscapeString(t.Base+OpenPath), `" width="1" height="1" alt="" style="border:0;width:1px;height:1px">`
}

// clickLinks numbers the distinct targets that are tracked and returns the
// function that leads them through this server: each as of, with its own number and
// target.
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
	for _, base := range []string{t.Base, t.Pages} {
		if base == "" || len(target) < len(base) || !strings.EqualFold(target[:len(base)], base) {
			continue
		}
		if rest := target[len(base):]; strings.HasPrefix(rest, "/unsubscribe/") || strings.HasPrefix(rest, "/preferences/") {
			return true
		}
	}
	return false
}

// UnsubscribeTargets are the addresses of a message's List-Unsubscribe header
// (RFC 2369 3.2): a set, since each link of the message is looked up in it.
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

// The purposes that tracking tokens are bound to.
const (
	openPurpose  = "open token"
	clickPurpose = "click token"
)

// Where hosted pages take tokens, below the base.
const (
	OpenPath  = "/t/o/"
	ClickPath = "/t/c/"
)

// Sizes of the messages that tokens carry, in bytes: version, email; and of a click
// team, host, numbers.
const (
	openVersion    = 1
	openTokenSize  = 1 + 16
	clickVersion   = 2
	clickTokenSize = 1 + 16 + 16 + hostMarkSize + 2 + 2 // without the target
	hostMarkSize   = 6
)

// ClickLink is what a tracked link stands for.
type ClickLink struct {
	TeamID  string
	EmailID string
	Host    string // on which it works, as HostOf writes it
	Link    int    // its number among the distinct targets of the email, from 0
	Links   int    // how many there are
	Target  string // Trackable
}

// Destination is where a tracked link leads.
type Destination struct {
	Target   string
	Location string // the same, as the value of a Location header
	// Orphaned: nobody answers for the link any more. A person is told where it leads,
	// and led nowhere.
	Orphaned bool
}

// OpenToken signs the address of an email's pixel: 44 characters of base64url.
func OpenToken(s *app.Sealer, emailID string) string {
	return s.SealToken(openPurpose, appendID([]byte{openVersion}, emailID))
}

// ClickToken signs a tracked link: at most 2,746 characters of base64url. It works on
// its own host alone: else whoever may send could make addresses on the hosts of
// everybody else that lead where he likes.
func ClickToken(s *app.Sealer, l ClickLink) string {
	b := append(make([]byte, 0, clickTokenSize+len(l.Target)+app.MacSize), clickVersion)
	b = appendID(appendID(b, l.TeamID), l.EmailID)
	b = append(b, hostMark(s, l.Host)...)
	b = binary.BigEndian.AppendUint16(b, uint16(l.Link)) // both at most MaxLinks
	b = binary.BigEndian.AppendUint16(b, uint16(l.Links))
	return s.SealToken(clickPurpose, append(b, l.Target...))
}

// hostMark stands for a host in a token. It is keyed, so that nobody can look for a
// host of his own that has the mark of another, and the same whatever the master key.
func hostMark(s *app.Sealer, host string) []byte {
	return s.Hash("click host", []byte(host))[:hostMarkSize]
}

// ReadOpenToken returns the email of a token that OpenToken made; ok is false for
// any other text.
func ReadOpenToken(s *app.Sealer, token string) (emailID string, ok bool) {
	b, ok := s.OpenToken(openPurpose, token, openTokenSize, openTokenSize)
	if !ok || b[0] != openVersion {
		return "", false
	}
	return uuid.UUID(b[1:17]).String(), true
}

// ReadClickToken returns the link of a token that ClickToken made for the host that it
// was asked for at, as HostOf writes it; ok is false for any other text. Behind a proxy
// that does not say which host was asked for, it is as good as any.
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
	return l, here && l.Link < l.Links && Trackable(l.Target)
}

// HostOf is the host of a request's Host header or of a URL's, with or without a port,
// as links are bound to it: in lower case.
func HostOf(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// BaseHost is the host that tracked links lead to.
func BaseHost(t *app.Tracking) string {
	u, err := url.Parse(t.Base)
	if err != nil {
		return ""
	}
	return HostOf(u.Host)
}

// isUnnamedHost reports whether a host is none that a link could name to the world: a proxy
// that was not told to pass the header on puts in how it reaches this server.
func isUnnamedHost(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast()
	}
	return !strings.Contains(host, ".")
}

// appendID appends an id in its 16 bytes.
func appendID(b []byte, id string) []byte {
	raw := uuid.MustParse(id)
	return append(b, raw[:]...)
}
