// Package chromium drives a headless Chromium for tests of pages: it opens files, evaluates expressions, takes pictures, and keeps what the page says
// on its console and asks of a network. It speaks the DevTools protocol over a pipe, so there is no port and nothing to wait for; everything ends
// with the context that it was started with. It is for tests and imports nothing of tapc but internal/childproc.
package chromium

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"tensortapestry.org/tapc/internal/childproc"
)

// Page is an empty page of a browser, or what was opened in it.
type Page struct {
	Console  []string // errors and warnings, and exceptions that nothing caught
	Requests []string // what was asked for beside the page itself
	to       *os.File
	from     *bufio.Reader
	session  string
	last     int
	done     chan error
	stop     context.CancelFunc
}

// flags make a browser that shows nothing, keeps nothing, and asks nobody. Containers let no program make the sandbox.
var flags = []string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions", "--disable-background-networking",
	"--disable-component-update", "--disable-sync", "--mute-audio", "--hide-scrollbars", "--force-device-scale-factor=1", "--remote-debugging-pipe"}

// Start starts the browser at a path with a window of a size; folder is where it keeps what it must.
func Start(ctx context.Context, path, folder string, width, height int) (*Page, error) {
	ctx, stop := context.WithCancel(ctx)
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		stop()
		return nil, err
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		stop()
		return nil, errors.Join(err, theirIn.Close(), ourOut.Close())
	}
	cmd := childproc.Command(ctx, path, append(flags, "--user-data-dir="+folder, fmt.Sprintf("--window-size=%d,%d", width, height), "about:blank")...)
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	p := &Page{to: ourOut, from: bufio.NewReaderSize(ourIn, 1<<16), done: make(chan error, 1), stop: stop}
	go func() {
		err := childproc.Run(ctx, cmd)
		theirIn.Close()
		theirOut.Close() // ends who reads an answer
		p.done <- err
	}()
	return p, p.attach()
}

// Close ends the browser.
func (p *Page) Close() {
	p.stop()
	<-p.done
	p.to.Close()
}

// attach finds the page that the browser begins with, and asks to hear what happens there.
func (p *Page) attach() error {
	var targets struct {
		TargetInfos []struct{ TargetID, Type string }
	}
	if err := p.call("Target.getTargets", nil, &targets); err != nil {
		return err
	}
	for _, t := range targets.TargetInfos {
		if t.Type != "page" {
			continue
		}
		var s struct{ SessionID string }
		if err := p.call("Target.attachToTarget", map[string]any{"targetId": t.TargetID, "flatten": true}, &s); err != nil {
			return err
		}
		p.session = s.SessionID
		break
	}
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		if err := p.call(domain+".enable", nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// message is what goes either way: a call or its answer, or an event.
type message struct {
	ID        int             `json:"id,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    any             `json:"params,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// call sends a call, and reads until its answer; events before it are noted.
func (p *Page) call(method string, params, result any) error {
	p.last++
	data, err := json.Marshal(message{ID: p.last, Method: method, Params: params, SessionID: p.session})
	if err != nil {
		return err
	}
	if _, err := p.to.Write(append(data, 0)); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	for {
		m, err := p.read()
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", method, err)
		case m.ID != p.last:
			p.note(m)
		case m.Error != nil:
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		case result == nil:
			return nil
		default:
			return json.Unmarshal(m.Result, result)
		}
	}
}

// read reads a message; the parameters of an event are raw.
func (p *Page) read() (*message, error) {
	data, err := p.from.ReadBytes(0)
	if err != nil {
		return nil, err
	}
	raw := json.RawMessage{}
	m := &message{Params: &raw}
	return m, json.Unmarshal(data[:len(data)-1], m)
}

// event has the fields of the events that are noted.
type event struct {
	Type    string
	Args    []struct{ Value any }
	Request struct{ URL string }
	Entry   struct{ Level, Text string }
	Details struct {
		Text      string
		Exception struct{ Description string }
	} `json:"exceptionDetails"`
}

// note keeps what a page says and asks for.
func (p *Page) note(m *message) {
	raw, ok := m.Params.(*json.RawMessage)
	var e event
	if !ok || len(*raw) == 0 || json.Unmarshal(*raw, &e) != nil {
		return
	}
	switch m.Method {
	case "Runtime.exceptionThrown":
		p.Console = append(p.Console, e.Details.Text+" "+e.Details.Exception.Description)
	case "Runtime.consoleAPICalled":
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			p.Console = append(p.Console, fmt.Sprint(e.Type, " ", e.Args))
		}
	case "Log.entryAdded":
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			p.Console = append(p.Console, e.Entry.Text)
		}
	case "Network.requestWillBeSent":
		if !strings.HasPrefix(e.Request.URL, "data:") && !strings.HasPrefix(e.Request.URL, "file:") && e.Request.URL != "about:blank" {
			p.Requests = append(p.Requests, e.Request.URL)
		}
	}
}

// Open shows a file, and waits until it is loaded.
func (p *Page) Open(file string) error {
	if err := p.call("Page.navigate", map[string]any{"url": "file://" + file}, nil); err != nil {
		return err
	}
	var there bool
	return p.Eval(`new Promise(done => { const look = () => document.readyState === "complete" ? done(true) : setTimeout(look, 5); look(); })`, &there)
}

// Eval evaluates an expression in the page, waits for it if it is a promise, and gives its value.
func (p *Page) Eval(expression string, value any) error {
	var r struct {
		Result  struct{ Value json.RawMessage }
		Details *struct {
			Text      string
			Exception struct{ Description string }
		} `json:"exceptionDetails"`
	}
	err := p.call("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &r)
	switch {
	case err != nil:
		return err
	case r.Details != nil:
		return fmt.Errorf("%s %s", r.Details.Text, r.Details.Exception.Description)
	case value == nil || len(r.Result.Value) == 0:
		return nil
	}
	return json.Unmarshal(r.Result.Value, value)
}

// Key presses and releases a key, by its name in the DOM.
func (p *Page) Key(name string) error {
	down := map[string]any{"type": "keyDown", "key": name}
	if len(name) == 1 {
		down["text"] = name
	}
	if err := p.call("Input.dispatchKeyEvent", down, nil); err != nil {
		return err
	}
	return p.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": name}, nil)
}

// Click presses and releases the button of a mouse at a place of the window.
func (p *Page) Click(x, y float64) error {
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		if err := p.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}, nil); err != nil {
			return err
		}
	}
	return nil
}

// Picture gives what the window shows, as PNG.
func (p *Page) Picture() ([]byte, error) {
	var r struct{ Data string }
	if err := p.call("Page.captureScreenshot", map[string]any{"format": "png"}, &r); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(r.Data)
}

// Print gives what the page prints, as PDF on paper of 8.5 by 11 inches.
func (p *Page) Print() ([]byte, error) {
	var r struct{ Data string }
	if err := p.call("Page.printToPDF", map[string]any{"printBackground": true}, &r); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(r.Data)
}
