-- One user.
select UserID from hits where UserID = 110868758768692
