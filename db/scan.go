package db

import (
	"errors"

	"mailer/db/engine"
)

// scanner is a row.
type scanner = engine.Scanner

// list returns what scan returns for each row of a query.
func list[T any](r *Reader, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	return engine.List(&r.Conn, scan, query, args...)
}

// one returns what scan returns for the first row of a query. Error: ErrNotFound.
func one[T any](r *Reader, scan func(scanner) (T, error), query string, args ...any) (T, error) {
	return engine.One(&r.Conn, scan, query, args...)
}

// scanText scans a row of one text.
func scanText(s scanner) (string, error) {
	var v string
	err := s.Scan(&v)
	return v, err
}

// ignoreNotFound turns ErrNotFound into nil.
func ignoreNotFound(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// oneRow turns "no row touched" into the error none.
func oneRow(n int64, err, none error) error {
	if err == nil && n == 0 {
		return none
	}
	return err
}
