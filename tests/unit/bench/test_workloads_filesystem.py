"""Where files lie, by what kernels said on machines of all kinds."""

from pathlib import Path, PurePath

import pytest

from fastinstall.bench.workloads import filesystem_of, find_mount

CLUSTER = """\
22 28 0:20 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw
28 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw,errors=remount-ro
29 28 0:25 / /dev/shm rw,nosuid,nodev shared:3 - tmpfs tmpfs rw
41 28 253:1 / /var rw,relatime shared:20 - xfs /dev/mapper/vg-var rw,attr2,inode64
50 28 0:45 / /home rw,relatime shared:30 - autofs systemd-1 rw,fd=60,pgrp=1,timeout=0,direct
51 50 0:46 / /home rw,relatime shared:31 - nfs4 store:/export/home rw,vers=4.2,rsize=1048576
52 28 0:47 / /scratch rw,relatime shared:32 - lustre 10.0.0.1@o2ib:/scratch rw,flock,lazystatfs
53 28 0:48 / /gpfs/data rw,relatime shared:33 - gpfs data rw
54 28 0:49 / /beegfs rw,relatime shared:34 - beegfs beegfs_nodev rw,cfgFile=/etc/beegfs/beegfs-client.conf
55 28 0:50 / /ceph rw,relatime shared:35 - ceph 10.0.0.2:6789:/ rw,name=admin,secret=<hidden>,acl
56 28 0:51 / /mnt/share rw,relatime shared:36 - cifs //nas/photos rw,vers=3.1.1
57 28 0:52 / /mnt/share3 rw,relatime shared:37 - smb3 //nas/photos rw,vers=3.1.1
58 28 0:53 / /mnt/my\\040photos\\134of\\0112026 rw shared:38 - fuse.sshfs me@there:/photos rw,user_id=1000
59 28 0:54 / /mnt/bucket rw,nosuid - fuse.rclone remote:bucket rw,user_id=1000
60 28 0:55 / /mnt/host rw - 9p hostshare rw,trans=virtio
61 28 0:56 / /mnt/vm rw - virtiofs myfs rw
62 28 8:17 /photos /srv/photos ro,relatime shared:40 - ext4 /dev/sdb1 rw
63 28 0:57 /@home /btrfs rw,relatime shared:41 - btrfs /dev/nvme0n1p3 rw,ssd,space_cache=v2,subvolid=257,subvol=/@home
64 28 0:58 / /run/ram rw - ramfs none rw
65 28 0:59 / /tank rw shared:42 - zfs pool/tank rw,xattr,posixacl
66 28 0:60 / /mnt/ntfs rw shared:43 - fuseblk /dev/sdc1 rw,user_id=0
"""
CONTAINER = """\
612 511 0:77 / / rw,relatime master:200 - overlay overlay rw,lowerdir=/l/A:/l/B,upperdir=/diff,workdir=/changes
613 612 0:80 / /proc rw - proc proc rw
614 612 0:81 / /dev rw - tmpfs tmpfs rw,size=65536k,mode=755
615 612 8:1 /var/lib/docker/containers/1/hosts /etc/hosts rw,relatime - ext4 /dev/sda1 rw
616 612 0:82 / /data rw,relatime - nfs 10.1.1.1:/data rw,vers=3
"""
WINDOWS = """\
68 62 8:32 / / rw,relatime - ext4 /dev/sdc rw,discard,errors=remount-ro
90 68 0:69 / /mnt/c rw,noatime - 9p C:\\134 rw,dirsync,aname=drvfs;path=C:\\;uid=1000;symlinkroot=/mnt/,cache=5,trans=fd
"""
HIDDEN = """\
27 1 8:1 / / rw - ext4 /dev/sda1 rw
30 27 8:2 / /data rw - ext4 /dev/sdb1 rw
31 30 0:9 / /data rw - tmpfs none rw
"""


def _machine(root: Path, mountinfo: str) -> Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text(mountinfo)
    return root


@pytest.mark.parametrize(
    ("path", "mount", "kind", "place"),
    [
        ("/opt/images", "/", "ext4", "disk"),
        ("/homework/a", "/", "ext4", "disk"),
        ("/var/cache", "/var", "xfs", "disk"),
        ("/srv/photos/a.jpg", "/srv/photos", "ext4", "disk"),
        ("/btrfs", "/btrfs", "btrfs", "disk"),
        ("/tank/a", "/tank", "zfs", "disk"),
        ("/mnt/ntfs/a", "/mnt/ntfs", "fuseblk", "disk"),
        ("/dev/shm/a", "/dev/shm", "tmpfs", "memory"),  # noqa: S108 (nothing is made there)
        ("/run/ram/a", "/run/ram", "ramfs", "memory"),
        ("/home/me/train", "/home", "nfs4", "network"),
        ("/scratch/train", "/scratch", "lustre", "network"),
        ("/gpfs/data/train", "/gpfs/data", "gpfs", "network"),
        ("/beegfs/train", "/beegfs", "beegfs", "network"),
        ("/ceph/train", "/ceph", "ceph", "network"),
        ("/mnt/share/a", "/mnt/share", "cifs", "network"),
        ("/mnt/share3/a", "/mnt/share3", "smb3", "network"),
        ("/mnt/my photos\\of\t2026/a", "/mnt/my photos\\of\t2026", "fuse.sshfs", "network"),
        ("/mnt/bucket/a", "/mnt/bucket", "fuse.rclone", "network"),
        ("/mnt/host/a", "/mnt/host", "9p", "network"),
        ("/mnt/vm/a", "/mnt/vm", "virtiofs", "network"),
    ],
)
def test_disk_memory_and_network_are_told_apart(tmp_path: Path, path: str, mount: str, kind: str, place: str) -> None:
    found = filesystem_of(Path(path), _machine(tmp_path, CLUSTER))
    assert (found.mount, found.type) == (PurePath(mount), kind)
    assert (found.memory, found.network) == (place == "memory", place == "network")


def test_a_container_has_its_image_and_what_is_mounted_into_it(tmp_path: Path) -> None:
    root = _machine(tmp_path, CONTAINER)
    assert filesystem_of(Path("/app/images"), root).type == "overlay"
    assert filesystem_of(Path("/data/train"), root).network
    assert filesystem_of(Path("/etc/hosts"), root).mount == PurePath("/etc/hosts")


def test_the_drives_of_windows_are_those_of_another_machine(tmp_path: Path) -> None:
    root = _machine(tmp_path, WINDOWS)
    assert filesystem_of(Path("/mnt/c/Users"), root).network
    assert not filesystem_of(Path("/mnt/d"), root).network


@pytest.mark.parametrize(("kind", "is_network"), [("fuse.s3fs", True), ("fuse.fuse-overlayfs", False)])
def test_of_filesystems_in_user_space_few_are_local(tmp_path: Path, kind: str, *, is_network: bool) -> None:
    root = _machine(tmp_path, f"27 1 0:40 / / rw - {kind} some rw\n")
    assert filesystem_of(Path("/"), root).network is is_network


def test_of_two_on_one_place_the_later_hides_the_other() -> None:
    assert find_mount(PurePath("/data/a"), HIDDEN) == (PurePath("/data"), "tmpfs")


def test_without_mountinfo_nothing_is_known_and_nothing_fails(tmp_path: Path) -> None:
    found = filesystem_of(Path("/a"), tmp_path)
    assert (found.mount, found.type, found.network, found.memory) == (PurePath("/"), "", False, False)


def test_a_path_of_this_machine_has_room(tmp_path: Path) -> None:
    found = filesystem_of(tmp_path / "not" / "there")
    assert found.free_bytes > 0
    assert tmp_path.resolve().is_relative_to(found.mount)
    assert found.type or found.mount == PurePath("/"), "only a root that is no mount, as in a chroot, is not named"
