package htmltext

import (
	"regexp"
	"strings"
)

// Parts of the expressions that find the placeholders of the unsubscribe link and of the view link
// in the spellings of editors: with percent-encoded braces or character references, in lower case, with blanks inside.
const (
	openBraces  = `(?:\{|%(?:25)*7B|&(?:amp;)?(?:#0*123|#x0*7B|lbrace|lcub);){3}`
	closeBraces = `(?:\}|%(?:25)*7D|&(?:amp;)?(?:#0*125|#x0*7D|rbrace|rcub);){3}`
	innerBlank  = `(?:[\s\x{a0}\x{200b}\x{feff}+]|%(?:25)*20|%C2%A0|&(?:nbsp|#160|#xA0|#32|#x20|#8203|ZeroWidthSpace);)*`
	underscore  = `(?:_|\\_|-|%(?:25)*5F|&(?:#95|#x5F|lowbar);|)`
	pageKey     = `(?:(RESEND` + underscore + `)?UNSUBSCRIBE(?:` + underscore + `(?:URL|LINK))?|(VIEW(?:_|%5F)URL))`
	pageMark    = openBraces + innerBlank + pageKey + innerBlank + `(?:\|[^{}<>"'%&]*)?` + closeBraces
	schemeWords = `(?:(?:https?|mailto|ftp|about|x-webdoc)(?::|%3A|&#58;|&colon;|&#x3A;)(?:/|\\|%2F|&#47;|&#x2F;|&sol;)*|//+)`
	quoteMarks  = `(?:\\*["'“”„‘’]|\\*&(?:quot|#34|#39|apos|#x22|#x27);|%22|\s)*`
)

var (
	// linkToPage matches an attribute whose value is only the placeholder. A scheme and a host may
	// precede it: editors add them to what they take for a relative URL.
	linkToPage = regexp.MustCompile(`(?i)(\s(?:href|action)\s*=\s*)(` + quoteMarks + `)(?:` + schemeWords + `)*(?:[^\s"'?#=<>{}%&\\“”]*/)?` +
		innerBlank + pageMark + `(?:/+|` + innerBlank + `)([?#][^\s"'<>\\“”]*)?(` + quoteMarks + `)`)
	soundPage = regexp.MustCompile(`^\{\{\{[ \t\r\n]*(?:(?:RESEND_)?UNSUBSCRIBE_URL|VIEW_URL)[ \t\r\n]*\}\}\}(?:[?#].*)?$`)
	anyPage   = regexp.MustCompile(`(?i)(?:` + schemeWords + `)*` + pageMark)
)

// RepairPageLinks rewrites each placeholder of the unsubscribe link in a body to
// {{{UNSUBSCRIBE_URL}}}, and of the view link to {{{VIEW_URL}}}, and removes what editors add before it, such as http://, and doubly
// escaped quotes. A body without placeholders or with correct ones is returned unchanged. It takes
// linear time.
func RepairPageLinks(s string) string {
	if !mayHoldPage(s) {
		return s
	}
	s = linkToPage.ReplaceAllStringFunc(s, func(link string) string {
		part := linkToPage.FindStringSubmatch(link)
		if isSoundLink(strings.TrimPrefix(link, part[1])) {
			return link
		}
		before, after := `"`, `"`
		if part[2] == `'` && strings.HasPrefix(part[6], `'`) {
			before, after = `'`, `'`
		}
		if strings.TrimRight(link, " \t\r\n") != link {
			after += " " // separates it from the next attribute
		}
		return part[1] + before + pageToken(part[3], part[4]) + part[5] + after
	})
	return anyPage.ReplaceAllStringFunc(s, func(link string) string {
		if soundPage.MatchString(link) {
			return link
		}
		part := anyPage.FindStringSubmatch(link)
		return pageToken(part[1], part[2])
	})
}

// isSoundLink reports whether the value of an attribute is a correct placeholder.
func isSoundLink(value string) bool {
	value = strings.Trim(value, " \t\r\n")
	if len(value) < 2 || value[0] != '"' && value[0] != '\'' || value[len(value)-1] != value[0] {
		return false
	}
	return soundPage.MatchString(strings.Trim(value[1:len(value)-1], " \t\r\n"))
}

func pageToken(resend, view string) string {
	if view != "" {
		return "{{{VIEW_URL}}}"
	}
	if resend != "" {
		return "{{{RESEND_UNSUBSCRIBE_URL}}}"
	}
	return "{{{UNSUBSCRIBE_URL}}}"
}

// mayHoldPage is a quick test that is true for all bodies with the placeholder.
func mayHoldPage(s string) bool {
	for _, word := range []string{"UNSUBSCRIBE", "unsubscribe", "Unsubscribe", "VIEW_URL", "view_url", "View_Url", "VIEW%5FURL"} {
		if strings.Contains(s, word) {
			return strings.Contains(s, "{{{") || strings.ContainsAny(s, "%&")
		}
	}
	return false
}
