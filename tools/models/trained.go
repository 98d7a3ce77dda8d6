package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"

	_ "embed"
)

// trained is the registry of models that are trained here.
const trained = "trained"

// The script that trains models of classical machine learning, and what it is run with.
var (
	//go:embed classical/train.py
	trainer string
	//go:embed classical/requirements.txt
	requirements string
)

// recipe is the digest of what makes trained models.
func recipe() string {
	h := sha256.Sum256([]byte(requirements + trainer))
	return hex.EncodeToString(h[:])
}

// train gives the folder of the trained models. They are all trained at once, by a Python of its own with the packages that are required.
func (s *settings) train(ctx context.Context) (string, error) {
	dir := filepath.Join(s.cache, "packages", recipe()[:16])
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	work, err := os.MkdirTemp(s.cache, "train-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	at := func(name string) string { return filepath.Join(work, name) }
	err = errors.Join(os.MkdirAll(filepath.Dir(dir), 0o700), os.Mkdir(at("models"), 0o700), os.WriteFile(at("train.py"), []byte(trainer), 0o600),
		os.WriteFile(at("requirements.txt"), []byte(requirements), 0o600))
	if err != nil {
		return "", err
	}
	python := at("python/bin/python")
	for _, words := range [][]string{{s.python, "-m", "venv", at("python")},
		{python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "-r", at("requirements.txt")},
		{python, "-W", "ignore", at("train.py"), at("models")}} {
		if _, err := command(ctx, words[0], words[1:]...); err != nil {
			return "", err
		}
	}
	return dir, os.Rename(at("models"), dir)
}
