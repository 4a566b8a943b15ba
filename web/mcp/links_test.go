package mcp_test

import (
	"slices"
	"testing"

	"mailer/web/mcp"
)

func TestNoToolAnswersSignInLink(t *testing.T) {
	found := 0
	for _, tool := range mcp.Tools(handler()) {
		if name := tool.Name(); name == "create_invitation" || name == "add_member" {
			found++
			if !slices.Contains(tool.Secrets(), "url") {
				t.Errorf("%s answers with the link", name)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d of two tools", found)
	}
}
