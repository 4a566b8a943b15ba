package inbound

import (
	"strings"

	"golang.org/x/net/html"

	"mailer/app/kit/htmltext"
)

// htmlMark is what an element of a mail program means.
type htmlMark byte

const (
	markQuote     htmlMark = iota + 1 // the element is a quote
	markIntro                         // the element introduces a quote
	markSignature                     // the element is a signature
	markRest                          // everything from the element is a quote
)

// classMarks and idMarks are the names that mail programs give to elements, in lower case.
var (
	classMarks = map[string]htmlMark{
		"gmail_attr": markIntro, "moz-cite-prefix": markIntro, "moz-email-headers-table": markIntro, "gmail_signature": markSignature, "gmail_signature_prefix": markSignature, "moz-signature": markSignature,
		"yahoo_quoted": markQuote, "protonmail_quote": markQuote, "tutanota_quote": markQuote, "zmail_extra": markQuote, "front-blockquote": markQuote, "mailru-blockquote": markQuote, "ms-outlook-mobile-reference-message": markQuote,
		"protonmail_signature_block": markSignature, "ms-outlook-mobile-signature": markSignature, "mobile_signature": markSignature,
	}
	idMarks = map[string]htmlMark{
		"divrplyfwdmsg": markRest, "appendonsend": markRest, "olk_src_body_section": markQuote, "mail-editor-reference-message-container": markQuote, "reply-intro": markIntro, "replyblockquote": markQuote, "isreplycontent": markQuote,
		"signature": markSignature, "ms-outlook-mobile-signature": markSignature, "applemailsignature": markSignature, "ymail_android_signature": markSignature, "ymail_ios_signature": markSignature, "outlook-signature": markSignature, "composer-signature": markSignature,
	}
)

// quoteMark replaces a quote, so that the text has a line that begins with >.
const quoteMark = "<div>&gt;</div>"

// markQuotes returns HTML in which the quotes that mail programs mark are replaced by quoteMark,
// and their signatures are removed. seen says which of them there are.
func markQuotes(source string) (out string, found seen) {
	var b strings.Builder
	z := htmltext.NewTokens(source)
	skipped, depth := "", 0
	kept := 0 // start of what was not written yet
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		switch {
		case depth > 0:
			if z.Name == skipped && kind == html.StartTagToken {
				depth++
			} else if z.Name == skipped && kind == html.EndTagToken {
				if depth--; depth == 0 {
					kept = z.At
				}
			}
		case kind == html.StartTagToken:
			mark := markOf(&z)
			if mark == 0 {
				continue
			}
			b.WriteString(source[kept:z.Begin])
			if mark == markSignature {
				found.signature = true
			} else {
				found.quote = true
			}
			if mark == markQuote || mark == markRest {
				b.WriteString(quoteMark)
			}
			if mark == markRest {
				return b.String(), found
			}
			skipped, depth = z.Name, 1
		}
	}
	if depth == 0 {
		b.WriteString(source[kept:])
	}
	return b.String(), found
}

// markOf returns what a start tag means; 0: nothing that is known.
func markOf(z *htmltext.Tokens) htmlMark {
	switch z.Name {
	case "div", "span", "p", "table", "section", "a", "hr", "font", "pre":
	case "blockquote":
		if value, ok := z.Value("type"); ok && strings.EqualFold(value, "cite") {
			return markQuote
		}
		if _, ok := z.Value("cite"); ok {
			return markQuote
		}
	default:
		return 0
	}
	if class, ok := z.Value("class"); ok {
		for name := range strings.FieldsSeq(strings.ToLower(class)) {
			if z.Name == "blockquote" && name == "gmail_quote" {
				return markQuote
			}
			if mark := classMarks[name]; mark != 0 {
				return mark
			}
		}
	}
	if id, ok := z.Value("id"); ok {
		id = strings.ToLower(strings.TrimSpace(id))
		if mark := idMarks[id]; mark != 0 && (z.Name != "hr" || mark == markRest) {
			return mark
		}
		if strings.HasPrefix(id, "yahoo_quoted_") {
			return markQuote
		}
	}
	if name, ok := z.Value("name"); ok && (name == "quote" || name == "quoted-content") && z.Name == "div" {
		return markQuote
	}
	return 0
}
