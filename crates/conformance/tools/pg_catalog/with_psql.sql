\d
\d customer
\d+ customer
\d sales.purchase
\d+ sales.purchase
\d rich
\d+ rich
\d order_numbers
\d customer_pkey
\dt
\dt+
\dt sales.*
\di
\di+
\dv
\dv+
\ds
\dm
\dn
\dn+
\du
\du+
\dT
\dT+
\df
\df+
\da
\dD
\dC
\dc
\do
\dO
\dp
\ddp
\dL
\dx
\dx+
\dy
\dF
\des
\dew
\det
\deu
\dRp
\dRs
\dX
\dP
\dA
\dA+
\dAc
\dAo
\dAp
\drds
\dconfig
\db
\dd
\l
\l+
\sv rich
\dS+ pg_class
\dTS
