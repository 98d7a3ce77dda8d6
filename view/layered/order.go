package layered

// sort puts each box behind those that its edges come from, and those right before it that nothing else leads to: what is read once
// stands beside its reader. An edge that closes a cycle does not count.
func (w *work) sort() {
	w.place = make([]int, len(w.Boxes))
	state := make([]uint8, len(w.Boxes)) // 0 new, 1 open, 2 done
	late := w.late()
	for box := range w.Boxes {
		if !late[box] {
			w.visit(box, state)
		}
	}
	for box := range w.Boxes {
		w.visit(box, state)
	}
}

// late finds the boxes that come when they are needed: what nothing leads to, and what depends on late boxes alone that say so.
func (w *work) late() []bool {
	late, waits, ready := make([]bool, len(w.Boxes)), make([]int, len(w.Boxes)), []int{}
	for box := range w.Boxes {
		waits[box] = len(w.before.of(box))
		if waits[box] == 0 && len(w.after.of(box)) > 0 {
			if late[box] = true; w.Boxes[box].Late {
				ready = append(ready, box)
			}
		}
	}
	for len(ready) > 0 {
		box := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for _, reader := range w.after.of(box) {
			if waits[reader]--; waits[reader] == 0 && len(w.after.of(int(reader))) > 0 {
				late[reader] = true
				ready = append(ready, int(reader))
			}
		}
	}
	return late
}

// visit appends a box to the order, and before it what it needs. The stack is its own, so that long chains are no trouble.
func (w *work) visit(root int, state []uint8) {
	if state[root] != 0 {
		return
	}
	type frame struct{ box, next int }
	stack := []frame{{box: root}}
	state[root] = 1
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if needs := w.before.of(top.box); top.next < len(needs) {
			need := int(needs[top.next])
			top.next++
			if state[need] == 0 {
				state[need] = 1
				stack = append(stack, frame{box: need})
			}
			continue
		}
		state[top.box], w.place[top.box] = 2, len(w.order)
		w.order = append(w.order, top.box)
		stack = stack[:len(stack)-1]
	}
}

// countCrossings finds for each place in the order what it costs to cut there: a reference for each box that is needed behind it.
func (w *work) countCrossings() {
	w.crossing = make([]int, len(w.order)+1)
	for at, box := range w.order {
		last := at
		for _, reader := range w.after.of(box) {
			last = max(last, w.place[reader])
		}
		if last > at {
			w.crossing[at+1] += 1 + w.Boxes[box].Apart
			w.crossing[last+1] -= 1 + w.Boxes[box].Apart
		}
	}
	for i := range w.order {
		w.crossing[i+1] += w.crossing[i]
	}
}
