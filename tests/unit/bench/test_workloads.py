"""Which images are found and chosen, how many, and on which filesystem they are."""

from pathlib import Path, PurePath

import pytest

from fastinstall.bench import workloads
from fastinstall.bench.effort import FULL, QUICK, Effort
from fastinstall.bench.workloads import count_fitting, filesystem_of, find_images, spread_evenly

MOUNTS = """\
22 28 0:20 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw
28 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw,errors=remount-ro
29 28 0:25 / /dev/shm rw,nosuid,nodev shared:3 - tmpfs tmpfs rw
41 28 253:1 / /var rw,relatime shared:20 - xfs /dev/mapper/vg-var rw,attr2,inode64
50 28 0:45 / /home rw,relatime shared:30 - autofs systemd-1 rw,fd=60,pgrp=1,timeout=0,direct
51 50 0:46 / /home rw,relatime shared:31 - nfs4 store:/export/home rw,vers=4.2,rsize=1048576
52 28 0:47 / /scratch rw,relatime shared:32 - lustre 10.0.0.1@o2ib:/scratch rw,flock,lazystatfs
56 28 0:51 / /mnt/share rw,relatime shared:36 - cifs //nas/photos rw,vers=3.1.1
58 28 0:53 / /mnt/my\\040photos\\134of\\0112026 rw shared:38 - fuse.sshfs me@there:/photos rw,user_id=1000
60 28 0:55 / /mnt/c rw,noatime - 9p C:\\134 rw,dirsync,aname=drvfs;path=C:\\;uid=1000
61 28 0:61 / /containers rw,relatime - fuse.fuse-overlayfs fuse-overlayfs rw
62 28 8:17 /photos /srv/photos ro,relatime shared:40 - ext4 /dev/sdb1 rw
64 28 0:58 / /run/ram rw - ramfs none rw
66 28 0:60 / /mnt/ntfs rw shared:43 - fuseblk /dev/sdc1 rw,user_id=0
67 28 0:77 / /box rw,relatime master:200 - overlay overlay rw,lowerdir=/l/A:/l/B,upperdir=/diff,workdir=/changes
"""


def write(directory: Path, *names: str) -> list[Path]:
    paths = [directory / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return paths


def test_images_are_found_by_extension(tmp_path: Path) -> None:
    wanted = write(tmp_path, "a.jpg", "deep/er/b.PNG", "c.webp")
    write(tmp_path, "notes.txt", "deep/labels.csv", ".git/a.jpg", ".cache/b.jpg", "node_modules/c.jpg")
    assert find_images([tmp_path]) == (sorted(wanted), 2, [], True)


def test_a_named_file_always_counts(tmp_path: Path) -> None:
    (path,) = write(tmp_path, ".hidden/picture.data")
    assert find_images([path])[0] == [path]


def test_links_are_followed_once(tmp_path: Path) -> None:
    write(tmp_path, "set/photos/a.jpg")
    write(tmp_path, "elsewhere/b.jpg")
    (tmp_path / "set/photos/again").symlink_to(tmp_path / "set", target_is_directory=True)
    (tmp_path / "set/train").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (tmp_path / "set/nowhere.jpg").symlink_to(tmp_path / "absent.jpg")
    images, _, _, is_complete = find_images([tmp_path / "set"])
    assert ([path.name for path in images], is_complete) == (["a.jpg", "b.jpg"], True)


def test_a_search_ends_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.jpg")
    monkeypatch.setattr(workloads, "_SEARCH_SECONDS", 0.0)
    assert find_images([tmp_path])[3] is False


def test_every_beginning_is_an_even_sample() -> None:
    images = [Path(f"/photos/{number:04}.{'png' if number % 5 == 0 else 'jpg'}") for number in range(1000)]
    sample = spread_evenly(images)[:100]
    assert sample == spread_evenly(images[::-1])[:100]
    assert sum(each.suffix == ".png" for each in sample) == 20
    assert min(sum(250 * part <= int(each.stem) < 250 * part + 250 for each in sample) for part in range(4)) >= 12


@pytest.mark.parametrize("effort", [QUICK, FULL])
def test_a_sample_fits_the_time(effort: Effort) -> None:
    assert count_fitting(effort, [0.19] * 100, None) == effort.sample
    assert effort.least_sample <= count_fitting(effort, [12.0] * 100, None) <= 8
    assert count_fitting(effort, [80.0], None) == 1
    assert count_fitting(effort, [], None) == 0
    assert [count_fitting(effort, [12.0] * count, 50) for count in (100, 10)] == [50, 10]


@pytest.mark.parametrize(
    ("path", "mount", "kind", "place"),
    [
        ("/homework/a", "/", "ext4", "disk"),
        ("/var/cache", "/var", "xfs", "disk"),
        ("/srv/photos/a.jpg", "/srv/photos", "ext4", "disk"),
        ("/mnt/ntfs/a", "/mnt/ntfs", "fuseblk", "disk"),
        ("/containers/a", "/containers", "fuse.fuse-overlayfs", "disk"),
        ("/box/a", "/box", "overlay", "disk"),
        ("/dev/shm/a", "/dev/shm", "tmpfs", "memory"),  # noqa: S108 (nothing is created there)
        ("/run/ram/a", "/run/ram", "ramfs", "memory"),
        ("/home/me/train", "/home", "nfs4", "network"),
        ("/scratch/train", "/scratch", "lustre", "network"),
        ("/mnt/share/a", "/mnt/share", "cifs", "network"),
        ("/mnt/my photos\\of\t2026/a", "/mnt/my photos\\of\t2026", "fuse.sshfs", "network"),
        ("/mnt/c/Users", "/mnt/c", "9p", "network"),
    ],
)
def test_a_filesystem_is_disk_memory_or_network(tmp_path: Path, path: str, mount: str, kind: str, place: str) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text(MOUNTS)
    found = filesystem_of(Path(path), tmp_path)
    assert (found.mount, found.type) == (PurePath(mount), kind)
    assert (found.memory, found.network) == (place == "memory", place == "network")


def test_an_unknown_filesystem_is_no_failure(tmp_path: Path) -> None:
    found = filesystem_of(Path("/a"), tmp_path)
    assert (found.mount, found.type, found.network, found.memory) == (PurePath("/"), "", False, False)
    assert filesystem_of(tmp_path / "not" / "there").free_bytes > 0
