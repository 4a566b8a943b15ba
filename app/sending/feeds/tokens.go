package feeds

import "golang.org/x/net/html"

func isText(kind html.TokenType) bool { return kind == html.TextToken }

func isEnd(kind html.TokenType) bool { return kind == html.ErrorToken }
