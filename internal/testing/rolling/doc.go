// Package rolling has tests in which locks outlast the loss of every master, one after another. Masters are real
// servers, and contenders are real processes: this test binary, started again, or muxlock.
//
// A roll takes one master: it is killed and started again empty, or stopped for two ttls and continued. The next roll
// begins once all masters vote and none lacks the kept lock. The holder is a lock that is kept alive, a leader, or the
// command of muxlock exec. Beside it others wait in line, try every 20 ms, or join the line and leave it. In other
// settings every holder is killed at any moment of a roll.
//
// What is audited:
//
//   - Each process reports every 2 ms at what time its lock was valid, by the monotonic clock that all processes of a
//     machine share. So a hold is known to span its reports. Two holds that overlap are two holders.
//   - A kept lock that ends before its holder does is lost.
//   - After the holder's process sees the master vote, the master soon has the lock's key, and it is the same at all.
//   - Who waits holds soon after a quorum of a killed holder's keys has expired, and each soon after a release.
//
// The tests play a few rolls. With MUXLOCK_ROLLS=50, or make rolling, they play that many in each setting, print a table, and
// hold the times against bounds, where the machine did not stall. MUXLOCK_ROLLING=regexp plays only the settings whose
// name matches it: "lock, 3 masters, 20 waiting, fenced, outages". Then 20,000 locks that one engine keeps regain a master, too.
package rolling
