// Package audience implements the API's routes of contacts, segments, topics, properties, imports
// and suppressions. Only web imports it.
//
// Failure policy: that of web/rest.
package audience
