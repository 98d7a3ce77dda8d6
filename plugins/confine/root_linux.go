package confine

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// The root directory of a program that has a mount namespace of its own: directories in memory, on which what the program may see is
// mounted under the names that it has outside, read-only but for what may be written. Its folder is in memory too, with a bound.
// A link on the way to a file is there as it is outside. There is no /proc.

// root is a root directory in the making.
type root struct {
	at     string // where it is mounted
	mounts []mount
}

// mount is a file or directory of the old root that is in the new one, under its real name.
type mount struct {
	real  string
	write bool
}

// maxLinks bounds the symbolic links on the way to a file, as the kernel does.
const maxLinks = 40

// newRoot gives this process, which must be in a mount namespace of its own, a root directory that has only what the task grants. It
// gives the name that the file open as exe has there, and the folder, open. After an error the old root is there as it was.
func (t *Task) newRoot(exe int) (program string, folder int, err error) {
	if program, err = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", exe)); err != nil {
		return "", -1, err
	}
	same, err := openSame(program, exe)
	if err != nil {
		return "", -1, err
	}
	defer unix.Close(same)
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return "", -1, err
	}
	r := &root{at: t.Folder} // it is hidden behind the new root, where another stands for it
	if err := unix.Mount("tmpfs", r.at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=1m"); err != nil {
		return "", -1, err
	}
	err = r.fill(t, fmt.Sprintf("/proc/self/fd/%d", same), program)
	if err == nil {
		err = r.enter()
	}
	if err != nil {
		unix.Unmount(r.at, unix.MNT_DETACH)
		return "", -1, err
	}
	folder, err = unix.Open(t.Folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return program, folder, err
}

// openSame opens the file at a path again, in this mount namespace, which alone can mount it, and makes sure that it is the one that a
// descriptor of another mount namespace stands for.
func openSame(path string, fd int) (int, error) {
	same, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	var a, b unix.Stat_t
	err = cmp.Or(unix.Fstat(fd, &a), unix.Fstat(same, &b))
	if err == nil && (a.Dev != b.Dev || a.Ino != b.Ino) {
		err = errors.New("there is another file now")
	}
	if err != nil {
		unix.Close(same)
		return -1, err
	}
	return same, nil
}

// fill mounts what a task grants, the program's file, and its folder.
func (r *root) fill(t *Task, opened, program string) error {
	list, err := r.find(t.grants())
	if err != nil {
		return err
	}
	for _, m := range list {
		if r.has(m) {
			continue
		}
		if err := r.bind(m.real, m.real, m.write); err != nil {
			return &os.PathError{Op: "mount", Path: m.real, Err: err}
		}
		r.mounts = append(r.mounts, m)
	}
	if err := r.bind(opened, program, false); err != nil {
		return err
	}
	if err := os.MkdirAll(r.at+t.Folder, 0o755); err != nil {
		return err
	}
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV)
	if !t.Execute {
		flags |= unix.MS_NOEXEC
	}
	bounds := fmt.Sprintf("mode=0700,size=%d,nr_inodes=%d", min(t.Limits.FileSize, t.Limits.Memory), MaxFiles)
	if err := unix.Mount("tmpfs", r.at+t.Folder, "tmpfs", flags, bounds); err != nil {
		return err
	}
	if err := os.MkdirAll(r.at+t.Sockets, 0o700); err != nil {
		return err
	}
	return readOnly(r.at, 0)
}

// readOnly makes what is mounted at a path read-only, and with AT_RECURSIVE what is mounted below it too.
func readOnly(at string, flags uint) error {
	err := unix.MountSetattr(unix.AT_FDCWD, at, flags, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	return os.NewSyscallError("mount_setattr", err)
}

// find gives what grants stand for, by name, so that a directory comes before what is in it. What is not there grants nothing.
func (r *root) find(grants []grant) ([]mount, error) {
	var list []mount
	for _, g := range grants[1:] { // the first is the folder
		real, err := r.follow(g.path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ENOTDIR) {
			continue
		}
		if err == nil && real == "/" {
			err = errors.New("all of the system's files are granted")
		}
		if err != nil {
			return nil, err
		}
		list = append(list, mount{real, g.rights&unix.LANDLOCK_ACCESS_FS_MAKE_REG != 0})
	}
	slices.SortFunc(list, func(a, b mount) int {
		if a.real == b.real && a.write != b.write {
			return map[bool]int{true: -1, false: 1}[a.write]
		}
		return cmp.Compare(a.real, b.real)
	})
	return list, nil
}

// follow gives a path without symbolic links, and makes those that it meets in the new root, where no mount has them.
func (r *root) follow(path string) (string, error) {
	done, links := "/", 0
	for todo := strings.Split(path, "/"); len(todo) > 0; {
		at := filepath.Join(done, todo[0])
		todo = todo[1:]
		info, err := os.Lstat(at)
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = at
			continue
		}
		target, err := os.Readlink(at)
		if err != nil {
			return "", err
		}
		if links++; links > maxLinks {
			return "", unix.ELOOP
		}
		if err := r.link(target, at); err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			done = "/"
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return done, nil
}

// link makes a symbolic link in the new root. Mounts come later, and hide it where they have it themselves.
func (r *root) link(target, at string) error {
	if err := os.MkdirAll(r.at+filepath.Dir(at), 0o755); err != nil {
		return err
	}
	if err := os.Symlink(target, r.at+at); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// has says whether a file is in what was mounted, with at least the right to write it that it is to have.
func (r *root) has(m mount) bool {
	return slices.ContainsFunc(r.mounts, func(x mount) bool {
		inside := m.real == x.real || strings.HasPrefix(m.real, x.real+"/")
		return inside && (x.write || !m.write)
	})
}

// bind mounts a file or directory of the old root, with all that is mounted below it, under a name of the new one.
func (r *root) bind(from, to string, write bool) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	to = r.at + to
	if info.IsDir() {
		err = os.MkdirAll(to, 0o755)
	} else if err = os.MkdirAll(filepath.Dir(to), 0o755); err == nil {
		err = makeFile(to)
	}
	if err != nil {
		return err
	}
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil || write {
		return os.NewSyscallError("mount", err)
	}
	return readOnly(to, unix.AT_RECURSIVE)
}

// makeFile makes an empty file, unless something is there.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// enter makes the new root the root, and lets go of the old one.
func (r *root) enter() error {
	if err := unix.Chdir(r.at); err != nil {
		return os.NewSyscallError("chdir", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return os.NewSyscallError("pivot_root", err)
	}
	return os.NewSyscallError("umount", unix.Unmount(".", unix.MNT_DETACH))
}
