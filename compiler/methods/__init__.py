"""Published methods on plain arrays, exact and on the workstation: as their authors run them, and
as a monitor can. ``compiler/monitors`` holds the forms that go on a device."""
