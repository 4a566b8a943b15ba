package rest

import "slices"

// downgrade turns the document into OpenAPI 3.0.3, for generators that don't read 3.1. 3.0 has no
// webhooks.
func (d document) downgrade() {
	d["openapi"] = "3.0.3"
	delete(d, "webhooks")
	license := d["info"].(object)["license"].(object)
	license["url"] = "https://spdx.org/licenses/" + license["identifier"].(string) + ".html"
	delete(license, "identifier")
	walk(object(d), downgradeSchema)
	d.dropUnusedSchemas()
}

// downgradeSchema turns a schema into one of OpenAPI 3.0.
func downgradeSchema(m object) {
	downgradeType(m)
	for _, choice := range []string{"anyOf", "oneOf"} {
		downgradeChoice(m, choice)
	}
	if ref, ok := m["$ref"]; ok && len(m) > 1 { // 3.0 ignores siblings of $ref
		delete(m, "$ref")
		m["allOf"] = []any{object{"$ref": ref}}
	}
	if examples, ok := m["examples"].([]any); ok {
		m["example"] = examples[0]
		delete(m, "examples")
	}
	if value, ok := m["const"]; ok {
		m["enum"] = []any{value}
		delete(m, "const")
	}
	for exclusive, limit := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if bound, ok := m[exclusive].(float64); ok {
			m[limit], m[exclusive] = bound, true
		}
	}
	// base64 is described in texts only: with 3.0's format byte among alternatives, ogen generates
	// Go that does not compile.
	for _, keyword := range []string{"contentEncoding", "contentMediaType", "contentSchema"} {
		delete(m, keyword)
	}
}

// downgradeType turns a nullable type into a type with nullable.
func downgradeType(m object) {
	types, ok := m["type"].([]any)
	if !ok {
		return
	}
	m["type"] = types[0]
	if types[0] == "null" {
		m["type"] = types[1]
	}
	m["nullable"] = true
}

// downgradeChoice removes null from alternatives and makes the first of the others nullable: 3.0
// allows nullable next to a type only.
func downgradeChoice(m object, choice string) {
	all, _ := m[choice].([]any)
	left := slices.DeleteFunc(slices.Clone(all), func(one any) bool { return one.(object)["type"] == "null" })
	if len(left) == len(all) {
		return
	}
	left[0].(object)["nullable"] = true
	m[choice] = left
}
