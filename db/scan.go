package db

import (
	"errors"

	"mailer/db/engine"
)

// scanner scans a row.
type scanner = engine.Scanner

// list returns the scanned rows of a query.
func list[T any](r *Reader, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	return engine.List(&r.Conn, scan, query, args...)
}

// one returns the first scanned row of a query. Error: ErrNotFound.
func one[T any](r *Reader, scan func(scanner) (T, error), query string, args ...any) (T, error) {
	return engine.One(&r.Conn, scan, query, args...)
}

// scanText scans a row with one text column.
func scanText(s scanner) (string, error) {
	var v string
	err := s.Scan(&v)
	return v, err
}

// ignoreNotFound replaces ErrNotFound with nil.
func ignoreNotFound(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// oneRow returns the error none if no row was changed.
func oneRow(n int64, err, none error) error {
	if err == nil && n == 0 {
		return none
	}
	return err
}
