//go:build linux || darwin || freebsd

// Command server answers each POST of an image (784 little-endian float32, row by row) with the digit in it, as JSON.
//
//	tapc build examples/classifier/classifier.loom.json --emit=lib --name=digits -o libdigits.so
//	go run ./examples/server/go libdigits.so 127.0.0.1:8080
package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"tensortapestry.org/tapc/library"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("server: ")
	if len(os.Args) != 3 {
		log.Fatal("expected LIBRARY ADDRESS")
	}
	// Requests are goroutines; four of them run the model at a time, each on a thread.
	model, err := library.Open(os.Args[1], library.Options{Threads: 1, Instances: 4})
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", listener.Addr())
	server := &http.Server{Handler: handler{model}, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	log.Fatal(server.Serve(listener))
}

type handler struct{ model *library.Model }

type answer struct {
	Digit       *int    `json:"digit,omitempty"`
	Probability float32 `json:"probability,omitempty"`
	Error       string  `json:"error,omitempty"`
}

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, a := h.answer(w, r)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(a)
}

func (h handler) answer(w http.ResponseWriter, r *http.Request) (int, answer) {
	input := h.model.Inputs()[0]
	if r.Method != http.MethodPost {
		return http.StatusBadRequest, answer{Error: "expected POST"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, input.Bytes+1))
	if err != nil || int64(len(body)) != input.Bytes {
		return http.StatusBadRequest, answer{Error: "expected an image of 784 float32"}
	}
	image, probabilities := make([]float32, input.Count()), make([]float32, 10)
	if _, err := binary.Decode(body, binary.LittleEndian, image); err != nil {
		return http.StatusBadRequest, answer{Error: err.Error()}
	}
	if err := h.model.Run(r.Context(), library.Values{"image": image}, library.Values{"probabilities": probabilities}); err != nil {
		return http.StatusInternalServerError, answer{Error: err.Error()}
	}
	best := slices.Index(probabilities, slices.Max(probabilities))
	return http.StatusOK, answer{Digit: &best, Probability: probabilities[best]}
}
