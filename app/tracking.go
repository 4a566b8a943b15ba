package app

import (
	"encoding/base64"
	"encoding/binary"
	"html"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Tracking says how the opens and clicks of one email are seen. It is fixed at
// acceptance, so that every attempt has the same bytes.
type Tracking struct {
	// Base is where the links and the pixel lead, without a slash at its end.
	Base  string `json:"base"`
	Open  bool   `json:"open,omitzero"`
	Click bool   `json:"click,omitzero"`
	// Pages is where hosted pages are reached, whose links are never tracked;
	// empty: at Base.
	Pages string `json:"pages,omitzero"`
}

// TrackingAt is how mail of the domain is tracked by a server at base, which has
// no slash at its end; nil: not at all. Links lead to the domain's tracking host
// once a check found its record, with scheme, port and path of base.
func (d *Domain) TrackingAt(base string) *Tracking {
	if base == "" || !d.OpenTracking && !d.ClickTracking {
		return nil
	}
	t := &Tracking{Base: base, Open: d.OpenTracking, Click: d.ClickTracking}
	name := d.TrackingName()
	live := name != "" && slices.ContainsFunc(d.Checks, func(c RecordCheck) bool {
		return c.Record == RecordTracking && c.Name == name && c.Live == LiveFound
	})
	u, err := url.Parse(base)
	if !live || err != nil || u.Hostname() == name {
		return t
	}
	u.Host = name + strings.TrimPrefix(u.Host, bracketed(u))
	t.Base, t.Pages = strings.TrimRight(u.String(), "/"), base
	return t
}

// bracketed is the host of a URL as it stands there, without its port.
func bracketed(u *url.URL) string {
	if port := u.Port(); port != "" {
		return strings.TrimSuffix(u.Host, ":"+port)
	}
	return u.Host
}

// Track is the mail of an email with its links led through this server and the
// pixel in its html; the mail itself where neither is wanted. What it was given
// does not change, and the same input always gives the same.
func (s *Sealer) Track(m *Mail, emailID string, t *Tracking) *Mail {
	if t == nil || m.HTML == "" {
		return m
	}
	places := scanHTML(m.HTML)
	wrap := func(target string) string { return target }
	if t.Click {
		wrap = s.clickLinks(&places, emailID, t, unsubscribeTargets(m.Headers))
	}
	pixel := ""
	if t.Open {
		before, after := t.pixel()
		pixel = before + s.OpenToken(emailID) + after
	}
	out := *m
	out.HTML = places.rewrite(m.HTML, wrap, pixel)
	return &out
}

// pixel is what stands around the token of an email in its pixel.
func (t *Tracking) pixel() (before, after string) {
	return `<img src="` + html.EscapeString(t.Base+"/t/o/"), `" width="1" height="1" alt="" style="border:0;width:1px;height:1px">`
}

// clickLinks numbers the distinct targets that are tracked and gives the
// function that leads them through this server.
func (s *Sealer) clickLinks(p *htmlPlaces, emailID string, t *Tracking, except []string) func(string) string {
	numbers := map[string]int{}
	for _, link := range p.links {
		if _, known := numbers[link.target]; !known && !t.isPage(link.target) && !slices.Contains(except, link.target) {
			numbers[link.target] = len(numbers)
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
			link = t.Base + "/t/c/" + s.ClickToken(ClickLink{EmailID: emailID, Link: n, Links: len(numbers), Target: target})
			links[target] = link
		}
		return link
	}
}

// isPage tells whether a target is a hosted page of this server.
func (t *Tracking) isPage(target string) bool {
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

// unsubscribeTargets are the addresses of a message's List-Unsubscribe header
// (RFC 2369 3.2).
func unsubscribeTargets(headers []Header) []string {
	var out []string
	for _, h := range headers {
		if !strings.EqualFold(h.Name, listUnsubscribe) {
			continue
		}
		for _, part := range strings.Split(h.Value, "<")[1:] {
			target, _, _ := strings.Cut(part, ">")
			out = append(out, strings.TrimSpace(target))
		}
	}
	return out
}

// The purposes that tracking tokens are bound to.
const (
	openPurpose  = "open token"
	clickPurpose = "click token"
)

const (
	trackingTokenVersion = 1
	openTokenSize        = 1 + 16         // without its MAC
	clickTokenSize       = 1 + 16 + 2 + 2 // without target and MAC
)

// ClickLink is what a tracked link stands for.
type ClickLink struct {
	EmailID string
	Link    int    // its number among the distinct targets of the email, from 0
	Links   int    // how many there are
	Target  string // Trackable
}

// OpenToken signs the address of an email's pixel: 44 characters of base64url.
func (s *Sealer) OpenToken(emailID string) string {
	return s.sealToken(openPurpose, appendEmailID(nil, emailID))
}

// ClickToken signs a tracked link: at most 2,716 characters of base64url.
func (s *Sealer) ClickToken(l ClickLink) string {
	b := appendEmailID(make([]byte, 0, clickTokenSize+len(l.Target)+macSize), l.EmailID)
	b = binary.BigEndian.AppendUint16(b, uint16(l.Link)) // both at most MaxTrackedLinks
	b = binary.BigEndian.AppendUint16(b, uint16(l.Links))
	return s.sealToken(clickPurpose, append(b, l.Target...))
}

func appendEmailID(b []byte, id string) []byte {
	raw := uuid.MustParse(id)
	return append(append(b, trackingTokenVersion), raw[:]...)
}

func (s *Sealer) sealToken(purpose string, message []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(message, s.MAC(purpose, message)...))
}

// openToken gives back the message of a token of a purpose. ok is false for
// every text but the one that sealToken made.
func (s *Sealer) openToken(purpose, token string, least, most int) (message []byte, ok bool) {
	size := base64.RawURLEncoding.DecodedLen(len(token))
	if size < least+macSize || size > most+macSize {
		return nil, false
	}
	b, err := DecodeToken(token)
	if err != nil || b[0] != trackingTokenVersion {
		return nil, false
	}
	message = b[:len(b)-macSize]
	return message, s.VerifyMAC(purpose, message, b[len(b)-macSize:])
}

// ReadOpenToken gives the email of a token that OpenToken made; ok is false for
// any other text.
func (s *Sealer) ReadOpenToken(token string) (emailID string, ok bool) {
	b, ok := s.openToken(openPurpose, token, openTokenSize, openTokenSize)
	if !ok {
		return "", false
	}
	return uuid.UUID(b[1:17]).String(), true
}

// ReadClickToken gives the link of a token that ClickToken made; ok is false for
// any other text.
func (s *Sealer) ReadClickToken(token string) (l ClickLink, ok bool) {
	b, ok := s.openToken(clickPurpose, token, clickTokenSize, clickTokenSize+MaxTrackedTarget)
	if !ok {
		return l, false
	}
	l = ClickLink{
		EmailID: uuid.UUID(b[1:17]).String(),
		Link:    int(binary.BigEndian.Uint16(b[17:])), Links: int(binary.BigEndian.Uint16(b[19:])),
		Target: string(b[clickTokenSize:]),
	}
	return l, l.Link < l.Links && Trackable(l.Target)
}
